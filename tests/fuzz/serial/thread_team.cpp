#include "operators/backend/threads/thread_team.hpp"

namespace femcg::operators {

void run_shares(CallOfShare call, const void* body) { call(body, 0, 1); }
int most_shares() { return 1; }

}  // namespace femcg::operators
