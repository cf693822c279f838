// The one bounded pool of helper threads of the process.
//
// A call cuts its rows into slices and works on them itself; helpers join it while slices are left.
// Nothing here allocates once the helpers exist: a job lives on its caller's stack and is linked
// into a list.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace swath {

struct Job {
  // Works until no slices are left; called once by each thread that takes part.
  void (*work)(void* context);
  void* context;
  std::atomic<int> active{0};  // helpers inside of `work`
  int wanted = 0;              // helpers that may still join
  Job* next = nullptr;
};

class Pool {
 public:
  // The pool of this process; a child after fork() gets a new one.
  static Pool& shared();

  // Runs `job.work` on this thread and on up to `helpers` others, `limit()` at most; returns when
  // all of them are done.
  void run(Job& job, int helpers);

  // Helper threads that there may be: one less than the CPUs.
  int limit() const { return limit_; }

  // Helper threads that exist now.
  int helpers();

 private:
  Pool();

  void serve();
  Job* join();
  bool spin_for_work();
  void start_helpers(int wanted);
  void leave(Job& job);

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable done_;
  Job* first_ = nullptr;
  std::atomic<int> pending_{0};  // sum of `wanted` over all jobs
  int threads_ = 0;
  const int limit_;
};

}  // namespace swath
