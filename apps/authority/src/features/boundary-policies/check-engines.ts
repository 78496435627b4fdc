import { Refusal } from '@chancery/contract'
import { CEDAR_PACKAGE, cedarEntities, cedarTexts, factOrigin } from '@chancery/protocol'
import type { BoundaryPolicyIntent, GateSpec, PolicyIssue } from '@chancery/protocol'
import { shorten } from '../../requests/read-fields.ts'
import type { Author, CedarGate } from './cedar-authoring.ts'
import { CedarMissingError } from './cedar-threads.ts'
import type { GateEngines } from './gate-answers.ts'
import { type IntentRequest, toJson } from './requests.ts'
import type { SentTexts } from './policy-texts.ts'

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
