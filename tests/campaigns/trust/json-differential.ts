import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { JsonError, canonicalJson, readJson, readJsonBytes } from '@chancery/protocol'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { makeDocument } from './json-documents.ts'
import { seededRandom } from '../lib/random.ts'

export const summary = 'our JSON reader and writer against an independent one in Python (protocol/core 1.1 to 1.3)'
export const defaultCount = 200_000

const REFERENCE = join(import.meta.dirname, 'json_reference.py')
const SHOWN = 10

/** Both readers must refuse a document, or both must read it and write the same text. */
export async function run({ count, seed, log }: CampaignOptions): Promise<CampaignResult> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-json-'))
  try {
    const [input, output] = [join(folder, 'documents'), join(folder, 'answers')]
    const lines = function* (): Generator<string> {
      for (const document of documents(count, seed)) yield `${Buffer.from(document).toString('base64')}\n`
    }
    await pipeline(Readable.from(lines()), createWriteStream(input))
    // One process for all documents, because starting an interpreter costs more than thousands of them.
    await promisify(execFile)('python3', [REFERENCE, input, output])
    const answers = (await readFile(output, 'ascii')).split('\n')
    return compare(answers, { count, seed, log })
  } finally {
    await rm(folder, { recursive: true })
  }
}

function compare(answers: readonly string[], { count, seed, log }: CampaignOptions): CampaignResult {
  let cases = 0
  let accepted = 0
  let violations = 0
  for (const document of documents(count, seed)) {
    const [ours, theirs = 'no answer'] = [answer(document), answers[cases]]
    if (theirs.startsWith('=')) accepted += 1
    if (ours !== theirs) {
      violations += 1
      if (violations <= SHOWN)
        log(`document ${Buffer.from(document).toString('base64')}: ours ${ours}, reference ${theirs}`)
    }
    cases += 1
  }
  log(`${accepted} documents accepted by the reference, ${cases - accepted} refused`)
  return { cases, violations }
}

/** Generated twice from the seed, because the documents of a long run do not fit into memory. */
function* documents(count: number, seed: number): Generator<Uint8Array> {
  const random = seededRandom(seed)
  for (let i = 0; i < count; i += 1) yield makeDocument(random)
}

/** In the form of json_reference.py. A result that is neither a text nor a refusal is a violation. */
function answer(document: Uint8Array): string {
  try {
    const written = canonicalJson(readJsonBytes(document))
    return canonicalJson(readJson(written)) === written ? `=${written}` : 'not stable'
  } catch (error) {
    return error instanceof JsonError ? '!' : `threw ${String(error)}`
  }
}
