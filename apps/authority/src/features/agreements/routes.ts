import { agreements } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { Office } from '../../office.ts'
import { accept } from './accept.ts'
import { counter } from './counter.ts'
import { offer } from './offer.ts'
import { verify } from './verify.ts'

export const agreementRoutes: readonly Binding<Office>[] = [
  bind(agreements.offer, offer),
  bind(agreements.counter, counter),
  bind(agreements.accept, accept),
  bind(agreements.verify, verify),
]
