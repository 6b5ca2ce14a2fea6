// Slots in the order of their last use.
#pragma once
#include <cstdint>
#include <vector>

namespace aggro {

/// A doubly linked list in two arrays: `touch` and `oldest` take constant time.
class Recency {
  public:
    std::int32_t oldest() const { return oldest_; }
    std::int32_t newer(std::int32_t slot) const { return newer_[at(slot)]; }

    /// Mark a slot as the most recent one; a new slot must have the next number.
    void touch(std::int32_t slot) {
        if (slot == newest_) return;
        if (at(slot) == older_.size()) {
            older_.push_back(nobody);
            newer_.push_back(nobody);
        } else {
            unlink(slot);
        }
        link(slot);
    }

    /// Return all slots, the oldest first.
    std::vector<std::int32_t> order() const {
        std::vector<std::int32_t> slots;
        for (std::int32_t s = oldest_; s != nobody; s = newer_[at(s)]) slots.push_back(s);
        return slots;
    }

    /// Return the list with this `order()`, a permutation of 0 .. n-1.
    static Recency from_order(const std::vector<std::int32_t>& slots) {
        Recency recency;
        recency.older_.assign(slots.size(), nobody);
        recency.newer_.assign(slots.size(), nobody);
        for (std::int32_t slot : slots) recency.link(slot);
        return recency;
    }

  private:
    static constexpr std::int32_t nobody = -1;
    static std::size_t at(std::int32_t slot) { return static_cast<std::size_t>(slot); }

    void link(std::int32_t slot) {
        older_[at(slot)] = newest_;
        newer_[at(slot)] = nobody;
        (newest_ == nobody ? oldest_ : newer_[at(newest_)]) = slot;
        newest_ = slot;
    }

    void unlink(std::int32_t slot) {
        const std::int32_t older = older_[at(slot)], newer = newer_[at(slot)];
        (older == nobody ? oldest_ : newer_[at(older)]) = newer;
        older_[at(newer)] = older;  // the newest is never unlinked
    }

    std::vector<std::int32_t> older_, newer_;
    std::int32_t oldest_ = nobody, newest_ = nobody;
};

}  // namespace aggro
