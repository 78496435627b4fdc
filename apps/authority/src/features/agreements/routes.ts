import { agreements } from '@chancery/contract'
import type { Binding } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import type { AgreementsParts } from './parts.ts'
import { accept } from './accept.ts'
import { cosign } from './cosign.ts'
import { counter } from './counter.ts'
import { offer } from './offer.ts'
import { verify } from './verify.ts'

export function agreementRoutes(parts: AgreementsParts): readonly Binding[] {
  return [
    bind(agreements.offer, (call) => offer(call, parts)),
    bind(agreements.counter, (call) => counter(call, parts)),
    bind(agreements.accept, (call) => accept(call, parts)),
    bind(agreements.cosign, (call) => cosign(call, parts)),
    bind(agreements.verify, (call) => verify(call, parts)),
  ]
}
