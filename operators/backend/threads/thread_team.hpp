#pragma once

namespace femcg::operators {

/// The host's threads in products and vector kernels of CG, which are short, follow each other immediately, and are
/// many: a hundred thousand a second for a system of a thousand unknowns.
///
/// Work has as many shares as OpenMP has threads. Every thread takes its own share, then shares that no thread has
/// begun. So a thread that another program keeps from its processor delays only the share that it has begun, whereas a
/// loop of OpenMP waits for all threads. A waiting thread spins for at most the time that waking up takes, and not at
/// all if the thread it waits for was last seen on the same processor. OMP_WAIT_POLICY is followed: with passive no
/// thread spins; with active for ten milliseconds. So is the binding of OpenMP's threads to places (OMP_PROC_BIND).
///
/// Calls body(share, shares) once for each 0 <= share < shares, on any threads, and returns when all are done; rethrows
/// the exception of the first share that failed. A share must not wait for another, as one thread may do both. Inside a
/// parallel region, and during another thread's call, there is one share.
template <class Body>
void for_shares(const Body& body);

/// Type-erased implementation of for_shares.
using CallOfShare = void (*)(const void* body, int share, int shares);
void run_shares(CallOfShare call, const void* body);

/// Number of shares that the next call will have at most.
int most_shares();

template <class Body>
void for_shares(const Body& body) {
  run_shares([](const void* of, int share, int shares) { (*static_cast<const Body*>(of))(share, shares); }, &body);
}

}  // namespace femcg::operators
