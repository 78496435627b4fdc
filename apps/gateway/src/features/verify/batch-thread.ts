import type { JoinCertificate, NetworkTrust } from '@chancery/protocol'
import { Transfer, serveCalls, lowerThreadPriority } from '@chancery/service-kit/threads'
import { toNetworkTrusts } from '../../trust/snapshot.ts'
import { digestOfCertificate, toAuditedBatch, verifyCertificate } from './audited-decision.ts'
import type { BatchRequest, BatchResult, CheckResult, RefusedResult, VerifyRequest } from './audited-decision.ts'
import { readAllowedBatch, catchRefusal } from './requests.ts'

// One batch at a time: it is read and checked first, and verified when the main thread requests it.
let waiting: readonly JoinCertificate[] = []
let known: { version: number; revision: string; networks: ReadonlyMap<string, NetworkTrust> } | undefined

function prepare(request: BatchRequest): CheckResult {
  return catchRefusal(() => {
    waiting = readAllowedBatch(request)
    return { count: waiting.length }
  })
}

interface Task {
  readonly request: BatchRequest | undefined
  readonly verification: VerifyRequest
}

async function verifyBatch({ request, verification: judging }: Task): Promise<Transfer | RefusedResult> {
  const { now, trust, version, isAudited } = judging
  // Stored before any refusal, because the main thread does not send it again.
  if (trust !== undefined) known = { version, revision: trust.revision, networks: toNetworkTrusts(trust) }
  if (known?.version !== version) throw new Error('the batch thread lacks the policy of this request')
  const prepared = request === undefined ? undefined : prepare(request)
  if (prepared !== undefined && 'refusal' in prepared) return prepared
  const certificates = waiting
  waiting = []
  const context = { ...known, now }
  const decisions = []
  for (const certificate of certificates) decisions.push(await verifyCertificate(certificate, context))
  const trusted = decisions.filter((decision) => decision.trusted).length
  const body = new Uint8Array(Buffer.from(JSON.stringify({ results: decisions })))
  const result: BatchResult = {
    body,
    trusted,
    untrusted: decisions.length - trusted,
    audited: isAudited
      ? { decisions: toAuditedBatch(decisions), digests: certificates.map(digestOfCertificate) }
      : undefined,
  }
  return new Transfer(result, [body.buffer])
}

lowerThreadPriority()
serveCalls({ prepare, verify: verifyBatch })
