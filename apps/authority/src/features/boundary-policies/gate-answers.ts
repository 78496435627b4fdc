import type { AskedQuestion, CedarQuestion, EngineAnswer, EngineAnswers } from '@chancery/protocol'
import type { CedarEngine } from './cedar.ts'
import type { FactSources } from './fact-sources.ts'
import type { PolicyTexts } from './policy-texts.ts'

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
