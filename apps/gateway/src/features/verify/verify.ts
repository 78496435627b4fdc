import { CONTENT_TYPES, GatewayRefusal } from '@chancery/contract'
import type { JoinCertificate, TrustDecision } from '@chancery/protocol'
import { Answer } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { takeCertificates } from './certificate-quota.ts'
import { digestOfCertificate, judge, judgeBrought, toAudited } from './judge.ts'
import { checkRequest, readBrought, readSingle } from './requests.ts'
import type { VerifyRequest } from './requests.ts'

/**
 * POST /verify
 * A 200 is not trust; `trusted` is. One verification is cheap enough for the event loop, and still holds a permit.
 */
export async function verify(call: ClientCall, office: Office): Promise<Answer> {
  const request = readSingle(await call.readBody())
  const [certificate] = request.certificates
  if (certificate === undefined) throw new GatewayRefusal('field', { path: 'certificate' })
  const decision =
    call.trust === undefined
      ? await verifyBrought(request, certificate, office)
      : await verifyByPolicy(request, certificate, call, office)
  noteDecision(call, office, certificate, decision)
  return new Answer(JSON.stringify(decision), CONTENT_TYPES.json)
}

async function verifyByPolicy(
  request: VerifyRequest,
  certificate: JoinCertificate,
  { client, trust }: ClientCall,
  office: Office,
): Promise<TrustDecision> {
  if (trust === undefined) throw new Error('a production gateway has a policy')
  checkRequest(request, client.networks)
  await takeCertificates(client, 1, office)
  const { networks } = trust
  return office.permits.forOne(() =>
    judge(certificate, { networks, revision: trust.data.revision, now: office.clock.now() }),
  )
}

function verifyBrought(request: VerifyRequest, certificate: JoinCertificate, office: Office): Promise<TrustDecision> {
  const brought = readBrought(request)
  return office.permits.forOne(() => judgeBrought(certificate, brought, office.clock.now()))
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
