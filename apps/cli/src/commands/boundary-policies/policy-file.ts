import { type BoundaryPolicy, type JsonObject, type JsonValue, isJsonObject } from '@chancery/protocol'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { Options } from '../../arguments/options.ts'
import { loadStructured } from '../../files/structured-file.ts'

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
