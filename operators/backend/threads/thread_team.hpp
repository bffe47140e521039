#pragma once

namespace femcg::operators {

/// The host's threads in products and in the passes of CG, which are short, follow each other at once, and are many: a
/// system of a thousand unknowns has a hundred thousand of them a second.
///
/// Work has as many shares as OpenMP has threads. Every thread takes its own; one that has done
/// it takes a share that nobody has begun. So a thread that another program keeps from its processor holds up what it
/// has begun and nothing else, where a loop of OpenMP waits until it has come and gone. Whoever waits spins for at most
/// the time that a sleeping thread takes to wake up, and not at all where the thread that it waits for was last seen on
/// the same processor. OMP_WAIT_POLICY is followed: passive, nobody spins; active, for ten milliseconds. So is the
/// binding of OpenMP's threads to places (OMP_PROC_BIND).
///
/// Calls body(share, shares) once for each 0 <= share < shares, on whatever threads, and returns when all are done;
/// throws what the first of the shares that failed has thrown. A share must not wait for another: one thread may do
/// both. Inside a parallel region, and while another thread's call is under way, there is one share.
template <class Body>
void for_shares(const Body& body);

/// The untyped call behind it.
using CallOfShare = void (*)(const void* body, int share, int shares);
void run_shares(CallOfShare call, const void* body);

/// The most shares that the next call will have.
int most_shares();

template <class Body>
void for_shares(const Body& body) {
  run_shares([](const void* of, int share, int shares) { (*static_cast<const Body*>(of))(share, shares); }, &body);
}

}  // namespace femcg::operators
