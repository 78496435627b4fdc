import { dirname, resolve } from 'node:path'
import { isJsonObject, member, readPresentedAttestation } from '@chancery/protocol'
import type { Attestation, JsonObject, JsonValue, Signer } from '@chancery/protocol'
import type { CommandContext } from '../../context.ts'
import { CommandError } from '../../errors/failure.ts'
import { loadRecord, loadStructured } from '../../files/json-file.ts'
import { loadSigner } from '../../files/keys.ts'

export type MethodRule = 'pass' | 'decide' | 'refuse'

/** The rules file of a guard. */
export interface GuardRules {
  readonly server: string | undefined
  readonly attestation: Attestation
  readonly executor: { readonly sovereignId: string; readonly signer: Signer }
  /** By tool: arguments that policies may read. */
  readonly parameters: ReadonlyMap<string, readonly string[]>
  readonly methods: ReadonlyMap<string, MethodRule>
}

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readPresentedAttestation } as const
const NAMES: ReadonlySet<string> = new Set(['server', 'attestation', 'executor', 'executor_key', 'tools', 'methods'])

/** Reads a rules file. Files that it names are relative to its folder. */
export async function loadRules(context: CommandContext, file: string): Promise<GuardRules> {
  const path = resolve(context.cwd, file)
  const value = await loadStructured(context.cwd, path)
  const unknown = Object.keys(value).find((name) => !NAMES.has(name))
  // An ignored member would be a rule without effect.
  if (unknown !== undefined) throw faulty(file, `${unknown} is not a member`)
  const folder = dirname(path)
  const text = (name: string): string => {
    const given = member(value, name)
    return typeof given === 'string' && given !== '' ? given : fail(file, `${name} must be a text`)
  }
  const executorKey = resolve(folder, text('executor_key'))
  return {
    server: member(value, 'server') === undefined ? undefined : text('server'),
    attestation: await loadRecord(folder, text('attestation'), ATTESTATION),
    executor: {
      sovereignId: text('executor'),
      signer: await loadSigner(context, executorKey, (noted) => noted),
    },
    parameters: readTools(member(value, 'tools') ?? {}, file),
    methods: readMethods(member(value, 'methods') ?? {}, file),
  }
}

function readTools(tools: JsonValue, file: string): ReadonlyMap<string, readonly string[]> {
  if (!isJsonObject(tools)) return fail(file, 'tools must have names and values')
  return new Map(Object.entries(tools).map(([tool, rule]) => [tool, readParameters(tool, rule, file)]))
}

function readParameters(tool: string, rule: JsonValue, file: string): readonly string[] {
  const { parameters = [], ...rest }: JsonObject = isJsonObject(rule) ? rule : { unreadable: null }
  if (
    Array.isArray(parameters) &&
    parameters.every((name) => typeof name === 'string') &&
    Object.keys(rest).length === 0
  )
    return parameters
  return fail(file, `tools.${tool} must have parameters, a list of names`)
}

function readMethods(methods: JsonValue, file: string): ReadonlyMap<string, MethodRule> {
  if (!isJsonObject(methods)) return fail(file, 'methods must have names and values')
  return new Map(
    Object.entries(methods).map(([method, rule]) => {
      if (method === 'tools/call' || method === 'tools/list') return fail(file, `${method} has no rule`)
      if (rule !== 'pass' && rule !== 'decide' && rule !== 'refuse')
        return fail(file, `methods.${method} must be pass, decide or refuse`)
      return [method, rule]
    }),
  )
}

function faulty(file: string, problem: string): CommandError {
  const hint = 'See: docs/how-to/mcp.md for the members of a rules file.'
  return new CommandError({ code: 'invalid_rules', message: `${file} is not a rules file: ${problem}.`, hint })
}

function fail(file: string, problem: string): never {
  throw faulty(file, problem)
}
