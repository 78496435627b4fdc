import { CEDAR_PACKAGE, isJsonObject, sha256Hex } from '@chancery/protocol'
import type { BoundaryPolicy, CedarQuestion, EngineAnswer, JsonObject, JsonValue } from '@chancery/protocol'
import { resolve } from 'node:path'
import type { Options } from '../../arguments/options.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { readText } from '../../files/files.ts'
import { loadStructured } from '../../files/json-file.ts'

/** What the authority assigns; a signed policy given as a file is published again without it. */
const ASSIGNED: ReadonlySet<string> = new Set(['version', 'signature', 'issued_at', 'issued_by', 'issuer_sovereign_id'])

/** Returns the intent of a policy file. The authority checks its content. */
export async function loadIntent(cwd: string, file: string): Promise<JsonObject> {
  return toIntent(await loadStructured(cwd, file))
}

export function toIntent(policy: JsonObject | BoundaryPolicy): JsonObject {
  const entries = Object.entries<JsonValue>(policy as JsonObject).filter(([name]) => !ASSIGNED.has(name))
  return Object.fromEntries(entries)
}

/** Contexts to simulate: a list under `contexts`, or those of the cases of a test file. */
export async function loadContexts(cwd: string, file: string): Promise<readonly JsonObject[]> {
  const content = await loadStructured(cwd, file)
  const [contexts, cases] = [content['contexts'], content['cases']]
  const list: readonly JsonValue[] = Array.isArray(contexts)
    ? contexts
    : Array.isArray(cases)
      ? cases.map(toContext)
      : []
  if (list.length === 0 || !list.every(isJsonObject))
    throw new CommandError({ code: 'invalid_contexts', message: `${file} has neither contexts nor cases.` })
  return list
}

/** The requests a simulation is asked about; undefined when none were named. */
export async function chooseRequests(cwd: string, options: Options): Promise<SimulatedRequests | undefined> {
  const file = options.text('contexts')
  if (file !== undefined && options.isSet('decisions')) throw usageError('Give --contexts or --decisions, not both.')
  if (file !== undefined) return { contexts: await loadContexts(cwd, file) }
  return options.isSet('decisions') ? { decisions: { newest: 1000 } } : undefined
}

type SimulatedRequests =
  | { readonly contexts: readonly JsonObject[] }
  | { readonly decisions: { readonly newest: number } }

/** The request of a test case, in the form a simulation takes. */
export function toContext(testCase: JsonValue): JsonValue {
  if (!isJsonObject(testCase)) return null
  const [context, basis] = [testCase['context'], testCase['basis']]
  const attestation = isJsonObject(basis) ? basis['attestation'] : undefined
  if (!isJsonObject(context)) return null
  return attestation === undefined ? context : { ...context, attestation }
}

/** A Cedar policy set and its schema. */
export interface CedarTexts {
  readonly policySet: string
  readonly schema: string
}

/** What a gate gives to Cedar besides the request. */
export interface CedarGate extends CedarTexts {
  readonly entities: readonly JsonValue[]
}

export interface Cedar {
  /** Problems of each gate of one policy, in their order. */
  check(gates: readonly CedarGate[]): Promise<readonly (readonly string[])[]>
  ask(question: CedarQuestion, texts: CedarTexts): Promise<EngineAnswer>
}

/** Runs work that may ask Cedar. The authority's package contains it, and is loaded when the first gate asks. */
export async function withCedar<Done>(work: (cedar: Cedar) => Promise<Done>): Promise<Done> {
  let opened: Promise<Cedar & { close(): Promise<void> }> | undefined
  const open = (): Promise<Cedar & { close(): Promise<void> }> =>
    (opened ??= import('@chancery/authority').then(({ openLocalCedar }) => openLocalCedar()))
  try {
    return await work({
      check: async (gates) => {
        try {
          return await (await open()).check(gates)
        } catch (error) {
          const message = 'Cedar cannot be loaded.'
          const hint = `Install it: npm install ${CEDAR_PACKAGE}`
          throw new CommandError({ code: 'cedar_missing', message, hint }, { cause: error })
        }
      },
      ask: async (question, texts) => (await open()).ask(question, texts),
    })
  } finally {
    await (await opened)?.close()
  }
}

/** The texts of --cedar and --schema. */
export async function loadCedarTexts(cwd: string, options: Options): Promise<Partial<CedarTexts>> {
  const read = async (name: string): Promise<string | undefined> => {
    const file = options.text(name)
    return file === undefined ? undefined : readText(resolve(cwd, file))
  }
  const [policySet, schema] = [await read('cedar'), await read('schema')]
  return { ...(policySet === undefined ? {} : { policySet }), ...(schema === undefined ? {} : { schema }) }
}

/** The intent with the digests of these texts in every Cedar gate that names none, and with the texts that it names. */
export function nameTexts(intent: JsonObject, { policySet, schema }: Partial<CedarTexts>): JsonObject {
  if (policySet === undefined && schema === undefined) return intent
  const { gates } = intent
  const digests = {
    ...(policySet === undefined ? {} : { policy_set_digest: sha256Hex(policySet) }),
    ...(schema === undefined ? {} : { schema_digest: sha256Hex(schema) }),
  }
  const named = Array.isArray(gates) ? gates.map((gate: JsonValue) => nameInGate(gate, digests)) : (gates ?? null)
  const texts = [policySet, schema].filter((text) => text !== undefined)
  return { ...intent, gates: named, texts }
}

function nameInGate(gate: JsonValue, digests: JsonObject): JsonValue {
  if (!isJsonObject(gate) || gate['gate_type'] !== 'cedar.v1') return gate
  const { config = {} } = gate
  return isJsonObject(config) ? { ...gate, config: { ...digests, ...config } } : gate
}
