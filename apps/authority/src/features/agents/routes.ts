import { agents } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { find } from './find.ts'
import { register } from './register.ts'
import { remove } from './remove.ts'
import { search } from './search.ts'

export const agentRoutes: readonly Binding<Office>[] = [
  bind(agents.register, register),
  bind(agents.search, search),
  bind(agents.find, find),
  bind(agents.remove, remove),
]
