import { crl } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import { current } from './current.ts'
import { keys } from './keys.ts'
import { revoke } from './revoke.ts'
import type { RevokeParts } from './revoke.ts'

export function crlRoutes(parts: RevokeParts): readonly Binding[] {
  return [
    bind(crl.current, (call) => current(call, parts)),
    bind(crl.keys, (call) => keys(call, parts)),
    bind(crl.revoke, (call) => revoke(call, parts)),
  ]
}
