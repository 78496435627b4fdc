import { agents } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { AgentsState } from './state.ts'
import { find } from './find.ts'
import { register } from './register.ts'
import { remove } from './remove.ts'
import { search } from './search.ts'

export function agentRoutes(parts: AgentsState): readonly Binding<unknown>[] {
  return [
    bind(agents.register, (call) => register(call, parts)),
    bind(agents.search, (call) => search(call, parts)),
    bind(agents.find, (call) => find(call, parts)),
    bind(agents.remove, (call) => remove(call, parts)),
  ]
}
