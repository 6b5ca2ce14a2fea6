// What a power cut leaves: a shim that notes, at every fsync, what is safe from then on.
//
// Loaded before libc (LD_PRELOAD), it answers fsync and fdatasync of what lies below
// POWER_ROOT. For a file it copies the content to POWER_SHADOW/file-INODE; for a folder it
// writes the names and inodes of its entries to POWER_SHADOW/folder-INODE. What was never synced is
// not there. A hard link keeps each inode from being used again under another name. One thread syncs
// at a time: two that sync the same folder must not note an older state after a newer one.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace {

std::string path_of(int fd) {
    char buffer[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t length = readlink(link.c_str(), buffer, sizeof buffer);
    return length < 0 ? "" : std::string(buffer, length);
}

// A file appears under its name when it is complete: a kill amid this is a sync that never ended.
bool write_whole(const std::string& place, const std::string& content) {
    const std::string unfinished = place + ".part" + std::to_string(getpid());
    const int out = open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0) return false;
    size_t done = 0;
    while (done < content.size()) {
        const ssize_t n = write(out, content.data() + done, content.size() - done);
        if (n <= 0) break;
        done += n;
    }
    close(out);
    return done == content.size() && rename(unfinished.c_str(), place.c_str()) == 0;
}

std::string read_whole(const std::string& path) {
    std::string content;
    const int in = open(path.c_str(), O_RDONLY);
    if (in < 0) return content;
    char buffer[65536];
    ssize_t n;
    while ((n = read(in, buffer, sizeof buffer)) > 0) content.append(buffer, n);
    close(in);
    return content;
}

std::string entries_of(const std::string& path) {
    std::string list;
    DIR* folder = opendir(path.c_str());
    while (folder != nullptr) {
        const dirent* entry = readdir(folder);
        if (entry == nullptr) break;
        if (entry->d_type != DT_REG) continue;
        list += std::to_string(entry->d_ino) + " " + entry->d_name + "\n";
    }
    if (folder != nullptr) closedir(folder);
    return list;
}

std::mutex one_at_a_time;

int sync_now(int fd) {
    const std::lock_guard hold(one_at_a_time);
    const char* root = getenv("POWER_ROOT");
    const char* shadow = getenv("POWER_SHADOW");
    const std::string path = path_of(fd);
    struct stat facts;
    if (root == nullptr || shadow == nullptr || path.rfind(root, 0) != 0 || fstat(fd, &facts) != 0)
        return 0;
    const std::string place = shadow;
    const std::string inode = std::to_string(facts.st_ino);
    if (S_ISDIR(facts.st_mode))
        return write_whole(place + "/folder-" + inode, entries_of(path)) ? 0 : -1;
    link(path.c_str(), (place + "/held-" + inode).c_str());
    const std::string open_file = "/proc/self/fd/" + std::to_string(fd);
    return write_whole(place + "/file-" + inode, read_whole(open_file)) ? 0 : -1;
}

}  // namespace

extern "C" int fsync(int fd) { return sync_now(fd); }
extern "C" int fdatasync(int fd) { return sync_now(fd); }
