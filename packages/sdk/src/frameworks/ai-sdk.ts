import type { JsonObject } from '@chancery/protocol'
import type { Governor } from '../governed/governor.ts'
import type { DeniedAnswer } from '../node/answer.ts'
import type { AskBasis } from '../node/decider.ts'

/** Tools of the AI SDK: import it as `@chancery/sdk/ai-sdk`. It needs that package for its types only. */

/** What the model gets instead of a result. */
export interface Denial {
  readonly denied: true
  readonly message: string
  readonly decision_id: string
  readonly missing: readonly string[]
}

export type AnyTool = object

export type Governed<Tool> = Tool extends {
  readonly execute?: (input: infer Input, options: infer Options) => infer Output
}
  ? Omit<Tool, 'execute'> & { readonly execute: (input: Input, options: Options) => Promise<Awaited<Output> | Denial> }
  : Tool

export type InputOf<Tool> = Tool extends { readonly execute?: (input: infer Input, options: never) => unknown }
  ? Input
  : never

export interface GovernToolsOptions<Tools> {
  /** The name of the tool when not given. */
  readonly capability?: (tool: string) => string
  /** What policies may read, by tool. The rest is in a digest. */
  readonly parameters?: { readonly [Name in keyof Tools]?: (input: InputOf<Tools[Name]>) => JsonObject }
  readonly basis?: (input: unknown, options: unknown) => AskBasis
  readonly onDenied?: (answer: DeniedAnswer) => Denial
}

type Execute = (input: object, options: unknown) => unknown

/** Wraps execute() of each tool. A tool without execute (a client-side tool) is returned unchanged. */
export function governTools<const Tools extends Readonly<Record<string, AnyTool>>>(
  govern: Governor,
  tools: Tools,
  { capability = (tool) => tool, parameters = {}, basis, onDenied = toDenial }: GovernToolsOptions<Tools> = {},
): { readonly [Name in keyof Tools]: Governed<Tools[Name]> } {
  const wrapped = Object.entries(tools).map(([name, tool]) => {
    const { execute } = tool as { readonly execute?: Execute }
    if (execute === undefined) return [name, tool] as const
    const read = parameters[name] as ((input: object) => JsonObject) | undefined
    const governed = async (input: object, options: unknown): Promise<unknown> => {
      const run = govern(capability(name), async (given: object) => execute.call(tool, given, options), {
        ...(read === undefined ? {} : { parameters: read }),
        ...(basis === undefined ? {} : { basis }),
      })
      const result = await run.try(input, options)
      return result.allowed ? result.value : onDenied(result.answer)
    }
    return [name, { ...tool, execute: governed }] as const
  })
  // The names and types of the tools stay: see Governed.
  return Object.fromEntries(wrapped) as unknown as { readonly [Name in keyof Tools]: Governed<Tools[Name]> }
}

function toDenial({ decision, explanation, missing }: DeniedAnswer): Denial {
  return { denied: true, message: explanation, decision_id: decision.decision_id, missing }
}

export type { JsonObject } from '@chancery/protocol'
export type { Governor } from '../governed/governor.ts'
export type { DeniedAnswer } from '../node/answer.ts'
export type { AskBasis } from '../node/decider.ts'
