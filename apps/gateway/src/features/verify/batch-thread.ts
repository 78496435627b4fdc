import type { JoinCertificate, NetworkTrust } from '@chancery/protocol'
import { Moved, answerCalls, stepBack } from '@chancery/service-kit'
import { toNetworkTrusts } from '../../trust/snapshot.ts'
import { toAuditedBatch } from './audited-decision.ts'
import type { BatchRequest, BatchResult, Checked, JudgeRequest, Refused } from './batch-calls.ts'
import { digestOfCertificate, judge } from './judge.ts'
import { readAllowedBatch, refusedOr } from './requests.ts'

// One batch at a time: it is read and checked first, and judged when the main thread says so.
let waiting: readonly JoinCertificate[] = []
let known: { version: number; revision: string; networks: ReadonlyMap<string, NetworkTrust> } | undefined

function prepare(request: BatchRequest): Checked {
  return refusedOr(() => {
    waiting = readAllowedBatch(request)
    return { count: waiting.length }
  })
}

interface Task {
  readonly request: BatchRequest | undefined
  readonly judging: JudgeRequest
}

async function judgeBatch({ request, judging }: Task): Promise<Moved | Refused> {
  const { now, trust, version, isAudited } = judging
  // Kept before anything can be refused: the main thread will not send it again.
  if (trust !== undefined) known = { version, revision: trust.revision, networks: toNetworkTrusts(trust) }
  if (known?.version !== version) throw new Error('the batch thread lacks the policy of this request')
  const prepared = request === undefined ? undefined : prepare(request)
  if (prepared !== undefined && 'refusal' in prepared) return prepared
  const certificates = waiting
  waiting = []
  const bench = { ...known, now }
  const decisions = []
  for (const certificate of certificates) decisions.push(await judge(certificate, bench))
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
  return new Moved(result, [body.buffer])
}

stepBack()
answerCalls({ prepare, judge: judgeBatch })
