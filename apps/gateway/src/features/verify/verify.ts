import { CONTENT_TYPES } from '@chancery/contract'
import type { JoinCertificate, TrustDecision } from '@chancery/protocol'
import { Answer, after } from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import type { TrustSnapshot } from '../../trust/snapshot.ts'
import { toAudited } from './audited-decision.ts'
import { takeCertificates } from './certificate-quota.ts'
import { judgeBrought } from './judge-brought.ts'
import { digestOfCertificate, judge } from './judge.ts'
import { READ_HERE_BYTES, holderOf } from './reading-desk.ts'
import { readAllowedSingle } from './requests.ts'

/**
 * POST /verify
 * A 200 is not trust; `trusted` is. One verification is cheap enough for the event loop, and still holds a permit.
 */
export function verify(call: ClientCall, office: Office): Soon<Answer> {
  return after(call.readBody(), (bytes) => {
    const { trust, client } = call
    if (trust === undefined) return verifyBrought(bytes, call, office)
    return after(readCertificate(bytes, call, office), (certificate) =>
      after(takeCertificates(client, 1, office), () => verifyCertificate(certificate, trust, call, office)),
    )
  })
}

function verifyCertificate(
  certificate: JoinCertificate,
  { networks, data }: TrustSnapshot,
  call: ClientCall,
  office: Office,
): Soon<Answer> {
  const decided = office.permits.forOne(() =>
    judge(certificate, { networks, revision: data.revision, now: office.clock.now() }),
  )
  return after(decided, (decision) => {
    noteDecision(call, office, certificate, decision)
    return new Answer(JSON.stringify(decision), CONTENT_TYPES.json)
  })
}

function readCertificate(bytes: Uint8Array, call: ClientCall, { readingDesk }: Office): Soon<JoinCertificate> {
  const request = { bytes, networks: call.client.networks }
  if (bytes.length <= READ_HERE_BYTES) return readAllowedSingle(request)
  return readingDesk.readCertificate(request, holderOf(call))
}

async function verifyBrought(bytes: Uint8Array, call: ClientCall, office: Office): Promise<Answer> {
  const request = { bytes, kind: 'single', maxBatch: 1, now: office.clock.now() } as const
  const { body, decisions } = await office.permits.forOne(() =>
    bytes.length > READ_HERE_BYTES ? office.readingDesk.judgeBrought(request, holderOf(call)) : judgeBrought(request),
  )
  const [decision] = decisions
  if (decision !== undefined) {
    office.metrics.decisions.with({ result: decision.trusted ? 'trusted' : 'untrusted' }).increase()
    call.context.trust_decision = decision
  }
  return new Answer(body, CONTENT_TYPES.json)
}

function noteDecision(
  { context }: ClientCall,
  { metrics, state }: Office,
  certificate: JoinCertificate,
  decision: TrustDecision,
): void {
  metrics.decisions.with({ result: decision.trusted ? 'trusted' : 'untrusted' }).increase()
  context.trust_decision = toAudited(decision)
  context.network = certificate.network_name
  const { issuer, crl_sequence } = decision.evaluation
  if (issuer !== null && crl_sequence !== null) context.crl = { issuer, sequence: crl_sequence }
  if (state !== undefined) context.certificate_digests = [digestOfCertificate(certificate)]
}
