#include "mapping.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

namespace swath {

namespace {

std::runtime_error failure(const std::string& path, const char* what) {
  return std::runtime_error(path + ": " + what);
}

}  // namespace

Mapping::Mapping(const std::string& path, int64_t size) : size_(size) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw failure(path, std::strerror(errno));
  struct stat status;
  if (fstat(file, &status) != 0 || status.st_size != size) {
    close(file);
    throw failure(path, "the size of the file changed while it was being loaded");
  }
  void* data = mmap(nullptr, static_cast<size_t>(size), PROT_READ, MAP_SHARED, file, 0);
  int reason = errno;
  close(file);
  if (data == MAP_FAILED) throw failure(path, std::strerror(reason));
  data_ = static_cast<const char*>(data);
}

Mapping::Mapping(Mapping&& other) noexcept : data_(other.data_), size_(other.size_) {
  other.data_ = nullptr;
}

Mapping::~Mapping() {
  if (data_ != nullptr) munmap(const_cast<char*>(data_), static_cast<size_t>(size_));
}

void Mapping::populate() const {
#if defined(MADV_POPULATE_READ)
  madvise(const_cast<char*>(data_), static_cast<size_t>(size_), MADV_POPULATE_READ);
#endif
}

Library::Library(const std::string& path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_ == nullptr) {
    const char* reason = dlerror();
    throw failure(path, reason == nullptr ? "can't be loaded" : reason);
  }
  auto version = reinterpret_cast<int32_t (*)()>(dlsym(handle_, "swath_abi_version"));
  auto scratch = reinterpret_cast<int64_t (*)()>(dlsym(handle_, "swath_scratch_bytes"));
  run_ = reinterpret_cast<int32_t (*)(const swath_call*)>(dlsym(handle_, "swath_run"));
  const char* wrong = nullptr;
  if (version == nullptr || scratch == nullptr || run_ == nullptr) {
    wrong = "lacks a function of the swath ABI";
  } else if (version() != SWATH_ABI_VERSION) {
    wrong = "speaks another version of the swath ABI";
  } else if ((scratch_bytes_ = scratch()) < 0) {
    wrong = "asks for a negative amount of scratch";
  }
  if (wrong != nullptr) {
    dlclose(handle_);
    throw failure(path, wrong);
  }
}

Library::~Library() { dlclose(handle_); }

}  // namespace swath
