import { CONTENT_TYPES } from '@chancery/contract'
import { Answer } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { takeCertificates } from './certificate-quota.ts'
import { judgeBrought } from './judge-brought.ts'
import { READ_HERE_BYTES, holderOf } from './reading-desk.ts'

/**
 * POST /verify/batch
 * All certificates at one instant, under one policy, one after another in a thread of their own, which reads them too.
 */
export async function verifyBatch(call: ClientCall, office: Office): Promise<Answer> {
  const bytes = await call.readBody()
  const { trust, client, context } = call
  if (trust === undefined) return verifyBroughtBatch(bytes, call, office)
  const { maxBatch } = office.settings
  const request = { bytes, maxBatch, networks: client.networks }
  // What is wrong with the request is said before what is wrong with the moment (protocol/gateway 7.3).
  if (!office.permits.hasBatchPlace) await office.readingDesk.checkBatch(request, holderOf(call))
  const result = await office.permits.forBatch(() =>
    office.batches.run({
      ...request,
      trust,
      now: () => office.clock.now(),
      isAudited: office.state !== undefined,
      admit:
        client.certificatesPerMinute === undefined ? undefined : (count) => takeCertificates(client, count, office),
    }),
  )
  noteCounts(office, result)
  noteNetwork(call)
  if (result.audited !== undefined) {
    context.trust_decisions = result.audited.decisions
    context.certificate_digests = result.audited.digests
  }
  return new Answer(result.body, CONTENT_TYPES.json)
}

async function verifyBroughtBatch(bytes: Uint8Array, call: ClientCall, office: Office): Promise<Answer> {
  const request = { bytes, kind: 'batch', maxBatch: office.settings.maxBatch, now: office.clock.now() } as const
  const { body, decisions } = await office.permits.forBatch(() =>
    bytes.length > READ_HERE_BYTES ? office.readingDesk.judgeBrought(request, holderOf(call)) : judgeBrought(request),
  )
  const trusted = decisions.filter((decision) => decision.trusted).length
  noteCounts(office, { trusted, untrusted: decisions.length - trusted })
  call.context.trust_decisions = decisions
  return new Answer(body, CONTENT_TYPES.json)
}

function noteCounts(
  { metrics }: Office,
  { trusted, untrusted }: { readonly trusted: number; readonly untrusted: number },
): void {
  metrics.decisions.with({ result: 'trusted' }).increase(trusted)
  metrics.decisions.with({ result: 'untrusted' }).increase(untrusted)
}

/** A client of one network asks about that network; of several the decisions do not say which. */
function noteNetwork({ context, client }: ClientCall): void {
  const [only, ...more] = client.networks
  if (only !== undefined && more.length === 0) context.network = only
}
