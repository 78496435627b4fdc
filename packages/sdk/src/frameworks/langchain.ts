import type { JsonObject } from '@chancery/protocol'
import type { Governor } from '../governed/governor.ts'
import { explainDenial } from '../node/answer.ts'
import type { AskBasis } from '../node/decider.ts'

/** Tools of LangChain: import it as `@chancery/sdk/langchain`. */

export interface GovernedOptions<Input, Config> {
  /** What policies may read. The rest is in a digest. */
  readonly parameters?: (input: Input) => JsonObject
  readonly basis?: (input: Input, config: Config) => AskBasis
}

/** Wraps the function that goes into `tool(func, fields)`. A denial is returned as text, as LangChain expects. */
export function governed<Input extends object, Output, Config>(
  govern: Governor,
  capability: string,
  func: (input: Input, config: Config) => Output | Promise<Output>,
  { parameters, basis }: GovernedOptions<Input, Config> = {},
): (input: Input, config: Config) => Promise<Output | string> {
  return async (input, config) => {
    const run = govern(capability, async (given: Input): Promise<Output> => func(given, config), {
      ...(parameters === undefined ? {} : { parameters }),
      ...(basis === undefined ? {} : { basis: (given: Input) => basis(given, config) }),
    })
    const result = await run.try(input)
    return result.allowed ? result.value : explainDenial(result.answer)
  }
}

export type { JsonObject } from '@chancery/protocol'
export type { Governor } from '../governed/governor.ts'
export type { AskBasis } from '../node/decider.ts'
