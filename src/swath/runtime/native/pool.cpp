#include "pool.hpp"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <system_error>
#include <thread>

#include "cpu.hpp"

namespace swath {

namespace {

// Waking a sleeping thread takes some 50 us here, so that waiting awake for about as long can't
// cost more than twice the best choice.
constexpr auto kSpin = std::chrono::microseconds(50);

std::atomic<Pool*> g_pool{nullptr};

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

template <class Condition>
bool spin_until(Condition condition) {
  auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 32; ++i) {
      if (condition()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// The threads of the parent don't exist in the child, and its mutex may be locked for ever: begin
// anew. The old pool leaks on purpose.
void forget_pool() { g_pool.store(nullptr); }

}  // namespace

Pool::Pool() : limit_(cpu_count() - 1) {}

Pool& Pool::shared() {
  Pool* pool = g_pool.load(std::memory_order_acquire);
  if (pool != nullptr) return *pool;
  static const int registered = pthread_atfork(nullptr, nullptr, forget_pool);
  (void)registered;
  Pool* fresh = new Pool();  // never destroyed: helpers may outlive static destructors
  if (g_pool.compare_exchange_strong(pool, fresh)) return *fresh;
  delete fresh;
  return *pool;
}

void Pool::run(Job& job, int helpers) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    start_helpers(helpers);
    if (helpers > threads_) helpers = threads_;
    job.wanted = helpers;
    job.next = first_;
    first_ = &job;
    pending_.fetch_add(helpers);
  }
  for (int i = 0; i < helpers; ++i) work_.notify_one();
  job.work(job.context);
  leave(job);
}

int Pool::helpers() {
  std::lock_guard<std::mutex> lock(mutex_);
  return threads_;
}

// Takes the job out of the list, so that nobody joins any more, and waits for those inside.
void Pool::leave(Job& job) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (Job** link = &first_; *link != nullptr; link = &(*link)->next) {
      if (*link != &job) continue;
      *link = job.next;
      pending_.fetch_sub(job.wanted);
      break;
    }
  }
  if (spin_until([&] { return job.active.load(std::memory_order_acquire) == 0; })) return;
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [&] { return job.active.load() == 0; });
}

void Pool::start_helpers(int wanted) {
  if (threads_ >= wanted) return;
  // Signals are for the threads of the host: a helper inherits a mask that blocks them all.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    for (; threads_ < wanted; ++threads_) std::thread([this] { serve(); }).detach();
  } catch (const std::system_error&) {
    // No more threads to be had: the caller does what they would have done.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Pool::serve() {
  for (;;) {
    Job* job = join();
    job->work(job->context);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      job->active.fetch_sub(1);  // the job may be gone from here on
    }
    done_.notify_all();
    spin_for_work();
  }
}

bool Pool::spin_for_work() {
  return spin_until([&] { return pending_.load(std::memory_order_relaxed) > 0; });
}

Job* Pool::join() {
  std::unique_lock<std::mutex> lock(mutex_);
  work_.wait(lock, [&] { return pending_.load() > 0; });
  Job** link = &first_;
  while ((*link)->wanted == 0) link = &(*link)->next;
  Job* job = *link;
  job->active.fetch_add(1);
  job->wanted -= 1;
  pending_.fetch_sub(1);
  return job;
}

}  // namespace swath
