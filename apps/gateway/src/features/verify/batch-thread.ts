import { GatewayRefusal } from '@chancery/contract'
import type { JoinCertificate, NetworkTrust } from '@chancery/protocol'
import { Moved, answerCalls } from '@chancery/service-kit'
import { toNetworkTrusts } from '../../trust/snapshot.ts'
import type { BatchResult, PrepareRequest, Prepared, RunRequest } from './batch-calls.ts'
import { digestOfCertificate, judge, toAudited } from './judge.ts'
import { checkBatchSize, checkRequest, readBatch } from './requests.ts'

// One batch at a time: it is read and checked first, and judged when the main thread says so.

let waiting: readonly JoinCertificate[] = []
let known: { version: number; revision: string; networks: ReadonlyMap<string, NetworkTrust> } | undefined

function prepare({ bytes, maxBatch, networks }: PrepareRequest): Prepared {
  try {
    const request = readBatch(bytes)
    checkBatchSize(request, maxBatch)
    checkRequest(request, networks)
    waiting = request.certificates
    return { count: waiting.length }
  } catch (error) {
    if (error instanceof GatewayRefusal) return { refusal: error.error, details: error.details }
    throw error
  }
}

async function run({ now, trust, version }: RunRequest): Promise<Moved> {
  if (trust !== undefined) known = { version, revision: trust.revision, networks: toNetworkTrusts(trust) }
  if (known?.version !== version) throw new Error('the batch thread lacks the policy of this request')
  const certificates = waiting
  waiting = []
  const decisions = []
  for (const certificate of certificates) decisions.push(await judge(certificate, { ...known, now }))
  const body = Buffer.from(JSON.stringify({ results: decisions }))
  const own = new Uint8Array(body)
  const result: BatchResult = {
    body: own,
    decisions: decisions.map(toAudited),
    digests: certificates.map(digestOfCertificate),
  }
  return new Moved(result, [own.buffer])
}

answerCalls({ prepare, run })
