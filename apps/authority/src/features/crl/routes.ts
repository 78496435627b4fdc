import { crl } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { current } from './current.ts'
import { keys } from './keys.ts'
import { revoke } from './revoke.ts'

export const crlRoutes: readonly Binding<Office>[] = [
  bind(crl.current, current),
  bind(crl.keys, keys),
  bind(crl.revoke, revoke),
]
