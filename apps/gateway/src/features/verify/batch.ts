import { CONTENT_TYPES } from '@chancery/contract'
import { Answer } from '@chancery/service-kit'
import type { ClientCall } from '../../edge/call.ts'
import type { Office } from '../../office.ts'
import { takeCertificates } from './certificate-quota.ts'
import { judgeBrought, toAudited } from './judge.ts'
import { checkBatchSize, checkRequest, readBatch, readBrought } from './requests.ts'

/** Larger bodies are read in the batch thread only: reading them here would hold everybody up. */
const READ_HERE_BYTES = 131_072

/**
 * POST /verify/batch
 * All certificates at one instant, under one policy, one after another in a thread of their own.
 */
export async function verifyBatch(call: ClientCall, office: Office): Promise<Answer> {
  const bytes = await call.readBody()
  if (call.trust === undefined) return verifyBroughtBatch(bytes, call, office)
  const { networks } = call.client
  const { maxBatch } = office.settings
  if (bytes.length <= READ_HERE_BYTES) {
    const request = readBatch(bytes)
    checkBatchSize(request, maxBatch)
    checkRequest(request, networks)
  }
  const { trust } = call
  const result = await office.permits.forBatch(() =>
    office.batches.run({
      bytes,
      maxBatch,
      networks,
      trust,
      now: () => office.clock.now(),
      admit: (count) => takeCertificates(call.client, count, office),
    }),
  )
  noteDecisions(call, office, result.decisions)
  noteNetwork(call)
  call.context.certificate_digests = result.digests
  return new Answer(result.body, CONTENT_TYPES.json)
}

async function verifyBroughtBatch(bytes: Uint8Array, call: ClientCall, office: Office): Promise<Answer> {
  const request = readBatch(bytes)
  checkBatchSize(request, office.settings.maxBatch)
  const brought = readBrought(request)
  const now = office.clock.now()
  const results = await office.permits.forBatch(async () => {
    const decisions = []
    for (const certificate of request.certificates) decisions.push(await judgeBrought(certificate, brought, now))
    return decisions
  })
  noteDecisions(call, office, results.map(toAudited))
  return new Answer(JSON.stringify({ results }), CONTENT_TYPES.json)
}

type Audited = ReturnType<typeof toAudited>

function noteDecisions({ context }: ClientCall, { metrics }: Office, decisions: readonly Audited[]): void {
  for (const { trusted } of decisions) metrics.decisions.with({ result: trusted ? 'trusted' : 'untrusted' }).increase()
  context.trust_decisions = decisions
}

/** A client of one network asks about that network; of several the decisions do not say which. */
function noteNetwork({ context, client }: ClientCall): void {
  const [only, ...more] = client.networks
  if (only !== undefined && more.length === 0) context.network = only
}
