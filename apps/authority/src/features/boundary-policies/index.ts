import { boundaryPolicies } from '@chancery/contract'
import type { AskedQuestion, EngineAnswers } from '@chancery/protocol'
import type { Feature } from '../../core.ts'
import { SerialQueue } from '@chancery/service-kit'
import { bind } from '../../auth/access.ts'
import { activate } from './activate.ts'
import { type ActivePolicies, openActivePolicies } from './active-set.ts'
import { active } from './active.ts'
import { type CedarState, openCedarEngine } from './cedar.ts'
import { deactivate } from './deactivate.ts'
import { openFactSources } from './fact-sources.ts'
import { answerQuestions } from './gate-answers.ts'
import { history } from './history.ts'
import { list } from './list.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import { type PolicySetView, describePolicySet } from './policy-health.ts'
import { openPolicyTexts } from './policy-texts.ts'
import { publish } from './publish.ts'
import { simulate } from './simulate.ts'
import { text } from './text.ts'
import { validate } from './validate.ts'
import { verify } from './verify.ts'

export { openActivePolicies } from './active-set.ts'
export { probeCedar } from './cedar.ts'
export type { CedarState } from './cedar.ts'
export type { PolicySetView } from './policy-health.ts'

export interface BoundaryPolicies extends Feature {
  /** The active policies, compared with their stored bytes at each request. */
  readonly active: ActivePolicies
  /** Asks what gates need to know about a request of the caller. Never throws for a source that fails. */
  answer(asked: readonly AskedQuestion[], caller: string): Promise<EngineAnswers>
  describe(): Promise<PolicySetView>
  /** Whether gates of type cedar.v1 get answers in this process. */
  probeCedar(): Promise<CedarState>
}

export function openBoundaryPolicies(parts: BoundaryPoliciesParts): BoundaryPolicies {
  const engines = {
    cedar: openCedarEngine(),
    facts: openFactSources(parts.settings, parts.clock),
    texts: openPolicyTexts(parts.database),
  }
  const own = { ...parts, active: openActivePolicies(parts), queue: new SerialQueue(), engines }
  return {
    routes: [
      bind(boundaryPolicies.validate, (call) => validate(call, own)),
      bind(boundaryPolicies.simulate, (call) => simulate(call, own)),
      bind(boundaryPolicies.publish, (call) => publish(call, own)),
      bind(boundaryPolicies.activate, (call) => activate(call, own)),
      bind(boundaryPolicies.deactivate, (call) => deactivate(call, own)),
      bind(boundaryPolicies.list, (call) => list(call, own)),
      bind(boundaryPolicies.active, (call) => active(call, own)),
      bind(boundaryPolicies.history, (call) => history(call, own)),
      bind(boundaryPolicies.text, (call) => text(call, own)),
      bind(boundaryPolicies.verify, (call) => verify(call, own)),
    ],
    jobs: [],
    active: own.active,
    answer: (asked, caller) => answerQuestions(engines, asked, caller),
    describe: () => describePolicySet(own),
    probeCedar: () => engines.cedar.probe(),
    close: () => engines.cedar.close(),
  }
}
