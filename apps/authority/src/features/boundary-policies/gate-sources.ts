import { Refusal } from '@chancery/contract'
import { MAX_POLICY_TEXTS, MAX_POLICY_TEXT_BYTES, sha256Hex } from '@chancery/protocol'
import type {
  AskedQuestion,
  BoundaryPolicyIntent,
  CedarQuestion,
  EngineAnswer,
  EngineAnswers,
  JsonValue,
} from '@chancery/protocol'
import type { Database } from '../../database/database.ts'
import { findPolicyText } from './queries.ts'
import type { CedarEngine } from './cedar.ts'
import type { FactSources } from './fact-sources.ts'

/** Texts of one request, by digest. */
export type SentTexts = ReadonlyMap<string, string>

/** Stored texts that policies name by their digest. */
interface PolicyTexts {
  find(digest: string): Promise<string | undefined>
}

/** Texts in memory: 64 of the largest are 4 MB. */
const MAX_CACHED = 64

/**
 * Reads each text once. Its name is its digest, so a text in memory is always the signed one, and an edited row counts
 * as absent.
 */
export function openPolicyTexts(database: Pick<Database, 'read'>): PolicyTexts {
  const cached = new Map<string, string>()
  return {
    async find(digest) {
      const known = cached.get(digest)
      if (known !== undefined) return known
      const text = await findPolicyText(database.read, digest)
      if (text === undefined || sha256Hex(text) !== digest) return undefined
      const [oldest] = cached.keys()
      if (cached.size >= MAX_CACHED && oldest !== undefined) cached.delete(oldest)
      cached.set(digest, text)
      return text
    },
  }
}

/** The member `texts` of validate, simulate and publish. A text that no gate names is refused. */
export function readTexts(value: JsonValue | undefined, intent: BoundaryPolicyIntent): SentTexts {
  if (value === undefined || value === null) return new Map()
  if (!Array.isArray(value)) throw refused('texts', 'an array is needed')
  if (value.length > MAX_POLICY_TEXTS) throw refused('texts', 'has too many items')
  const named = new Set<unknown>(
    intent.gates.flatMap(({ config }) => [config['policy_set_digest'], config['schema_digest']]),
  )
  return new Map(
    (value as readonly JsonValue[]).map((text, index) => {
      const field = `texts[${index}]`
      if (typeof text !== 'string') throw refused(field, 'a string is needed')
      if (Buffer.byteLength(text) > MAX_POLICY_TEXT_BYTES)
        throw refused(field, `is larger than ${MAX_POLICY_TEXT_BYTES} bytes`)
      if (text.includes('\0')) throw refused(field, 'contains a null character')
      const digest = sha256Hex(text)
      if (!named.has(digest)) throw refused(field, 'no gate names the digest of this text')
      return [digest, text]
    }),
  )
}

function refused(field: string, message: string): Refusal {
  return new Refusal('invalid_boundary_policy', { errors: [{ field, message }] })
}

/** Calls to other systems for one decision. A gate beyond them has no answer and denies. */
const MAX_FACTS = 8

export interface GateEngines {
  readonly cedar: CedarEngine
  readonly facts: FactSources
  readonly texts: PolicyTexts
}

/** What answers the questions of a request: of a decision, or of a simulation. */
export interface GateSources {
  readonly cedar: Pick<CedarEngine, 'ask'>
  readonly facts: Pick<FactSources, 'ask'>
  readonly texts: PolicyTexts
}

/** Asks every question once, at the same time. Callers are served in turn. A question that cannot be asked has an answer that denies. */
export async function answerQuestions(
  { cedar, facts, texts }: GateSources,
  asked: readonly AskedQuestion[],
  caller: string,
): Promise<EngineAnswers> {
  const questions = new Map(asked.map(({ question }) => [question.digest, question]))
  let calls = 0
  const answers = await Promise.all(
    [...questions].map(async ([digest, question]): Promise<readonly [string, EngineAnswer]> => {
      if (question.kind === 'cedar') return [digest, await askCedar({ cedar, texts }, question, caller)]
      calls += 1
      return [digest, calls > MAX_FACTS ? { kind: 'none', failure: 'overloaded' } : await facts.ask(question, caller)]
    }),
  )
  return new Map(answers)
}

async function askCedar(
  { cedar, texts }: Pick<GateSources, 'cedar' | 'texts'>,
  question: CedarQuestion,
  caller: string,
): Promise<EngineAnswer> {
  const [policySet, schema] = await Promise.all([
    texts.find(question.policy_set_digest),
    texts.find(question.schema_digest),
  ])
  if (policySet === undefined || schema === undefined) return { kind: 'none', failure: 'text_unavailable' }
  return cedar.ask(question, { policySet, schema }, caller)
}
