import { Refusal } from '@chancery/contract'
import {
  CEDAR_PACKAGE,
  cedarEntities,
  cedarTexts,
  factOrigin,
  findPolicyIssues,
  readPolicyIntent,
} from '@chancery/protocol'
import type { BoundaryPolicyIntent, GateSpec, JsonObject, JsonValue, PolicyIssue } from '@chancery/protocol'
import { shorten } from '../../requests/read-fields.ts'
import type { Author, CedarGate } from './cedar-authoring.ts'
import { CedarMissingError } from './cedar-threads.ts'
import { type GateEngines, type SentTexts, readTexts } from './gate-sources.ts'

/** Assigned by the authority. A caller must not choose them. */
const ASSIGNED = ['version', 'signature', 'issued_at', 'issued_by', 'issuer_sovereign_id']
const MEMBERS = ['policy_id', 'description', 'valid_from', 'valid_until', 'selector', 'gates', 'texts']

interface IntentRequest {
  readonly intent: BoundaryPolicyIntent
  readonly issues: readonly PolicyIssue[]
  readonly texts: SentTexts
}

/** Reads an intent with its validation issues. Rows 1 to 5 of protocol/trust-operations 5.2 refuse in this order. */
export function readIntentRequest(body: JsonObject): IntentRequest {
  refuseMembers(Object.keys(body).filter((name) => ASSIGNED.includes(name)))
  refuseMembers(Object.keys(body).filter((name) => !MEMBERS.includes(name)))
  const policy_id = body['policy_id']
  if (typeof policy_id !== 'string' || policy_id === '') throw new Refusal('missing_policy_id')
  if (isAbsent(body['valid_from']) || isAbsent(body['valid_until'])) throw new Refusal('missing_validity_window')
  const reading = readPolicyIntent(policy_id, body)
  if (!reading.ok)
    throw new Refusal('invalid_boundary_policy', { errors: reading.errors.map((error) => ({ ...error })) })
  const texts = readTexts(body['texts'], reading.intent)
  return { intent: reading.intent, issues: findPolicyIssues(reading.intent, reading), texts }
}

export function toJson(issue: PolicyIssue): JsonObject {
  return { ...issue }
}

function refuseMembers(names: readonly string[]): void {
  if (names.length > 0) throw new Refusal('unexpected_field', { fields: names.map(shorten).sort().slice(0, 64) })
}

function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === ''
}

/** The version to activate or deactivate. */
export function readVersion(body: JsonObject): number {
  const version = body['version']
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1)
    throw new Refusal('invalid_policy_version')
  return version
}

/** An intent as read, with the issues that only the engines can find (protocol/trust-operations 5.12 and 5.13). */
export async function checkWithEngines(
  request: IntentRequest,
  engines: GateEngines,
  author: Author,
): Promise<IntentRequest> {
  const { intent, issues, texts } = request
  // Configs that were refused are not looked into.
  if (issues.length > 0) return request
  return { ...request, issues: await findEngineIssues(intent, texts, engines, author) }
}

/** Refuses an intent with issues. */
export async function requireGood(
  request: IntentRequest,
  engines: GateEngines,
  author: Author,
): Promise<BoundaryPolicyIntent> {
  const { intent, issues } = await checkWithEngines(request, engines, author)
  if (issues.length > 0) throw new Refusal('boundary_policy_invalid', { valid: false, issues: issues.map(toJson) })
  return intent
}

async function findEngineIssues(
  { gates }: Pick<BoundaryPolicyIntent, 'gates'>,
  texts: SentTexts,
  engines: GateEngines,
  author: Author,
): Promise<readonly PolicyIssue[]> {
  const read = await Promise.all(gates.map((gate) => readGate(gate, texts, engines)))
  const checked = await checkCedar(
    engines.cedar,
    read.filter((each) => 'policySet' in each),
    author,
  )
  let next = 0
  return gates.flatMap(({ gate_id }, index) => {
    const gate = read[index] ?? []
    const messages = 'policySet' in gate ? (checked[next++] ?? []) : gate
    return messages.map((message) => ({
      code: 'invalid_gate_config' as const,
      message: `config: ${shorten(message)}`,
      gate_id,
    }))
  })
}

/** Whether all engines and texts of a stored policy are there, so that it can be activated. */
export async function canRun(
  policy: Pick<BoundaryPolicyIntent, 'gates'>,
  engines: GateEngines,
  author: Author,
): Promise<boolean> {
  return (await findEngineIssues(policy, new Map(), engines, author)).length === 0
}

/** Returns the problems of a gate, or what Cedar has to check. */
async function readGate(
  { gate_type, config }: GateSpec,
  sent: SentTexts,
  { facts, texts }: GateEngines,
): Promise<readonly string[] | CedarGate> {
  if (gate_type === 'external_fact.v1')
    return facts.mayAsk(factOrigin(config)) ? [] : ['origin: this authority may not ask it, see NA_FACT_ORIGINS']
  if (gate_type !== 'cedar.v1') return []
  const find = async (digest: string): Promise<string | undefined> => sent.get(digest) ?? (await texts.find(digest))
  const named = cedarTexts(config)
  const [policySet, schema] = [await find(named.policy_set_digest), await find(named.schema_digest)]
  if (policySet === undefined) return ['policy_set_digest: no text with this digest was sent or is stored']
  if (schema === undefined) return ['schema_digest: no text with this digest was sent or is stored']
  return { policySet, schema, entities: cedarEntities(config) }
}

async function checkCedar(
  cedar: GateEngines['cedar'],
  gates: readonly CedarGate[],
  author: Author,
): Promise<readonly (readonly string[])[]> {
  try {
    return await cedar.check(gates, author)
  } catch (error) {
    // The request is over: nothing was found out about the texts.
    if (error instanceof Refusal) throw error
    const isMissing = error instanceof CedarMissingError
    const problem = isMissing ? `cedar.v1 needs a package: npm install ${CEDAR_PACKAGE}` : 'Cedar could not be started'
    return gates.map(() => [problem])
  }
}
