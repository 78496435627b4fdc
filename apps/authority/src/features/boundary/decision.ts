import { Refusal, SERVER_LIMITS } from '@chancery/contract'
import {
  CounterNotes,
  asJson,
  basisEnd,
  boundaryFacts,
  boundaryQuestions,
  canonicalJson,
  decisionEnd,
  evaluateBoundary,
  isBudgetStep,
  mayAskPerson,
  readUses,
} from '@chancery/protocol'
import type {
  AskedCounter,
  AskedQuestion,
  BoundaryBasis,
  BoundaryDecision,
  BoundaryQuestion,
  BudgetUse,
  ContextRecord,
  EngineAnswers,
  Evaluation,
  Instant,
} from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { BUDGET_OUTCOMES } from '../../metrics.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import { type BoundaryState, countDecision } from './context.ts'
import { budgetEffect } from '../approvals/index.ts'
import type { ChangedApproval, LockedRequest, PreparedApproval } from '../approvals/index.ts'
import { BasisChangedError, type LockedDecision, type SignedItem } from '../evidence/index.ts'
import { type Evaluated, type Question, findHead, ownersOf, signDecision } from './sign-decision.ts'
import { untilStored } from './until-stored.ts'

/** Decides under the active policies, signs, and stores decision and audit event before the response is sent. */
export async function decideAndStore(call: Call, parts: BoundaryState, question: Question): Promise<HttpResponse> {
  const asking: Asking = { began: performance.now(), answered: undefined }
  return untilStored(
    question,
    () => readAgain(parts, question),
    (read) => decideOnce(call, parts, read, asking),
  )
}

async function readAgain(parts: BoundaryState, question: Question): Promise<Question> {
  const basisVersion = await parts.evidence.basisVersion()
  return { ...question, ...(await question.resolveAgain()), basisVersion }
}

async function decideOnce(call: Call, parts: BoundaryState, question: Question, asking: Asking): Promise<HttpResponse> {
  const asked = await evaluateAsked(parts, question, asking)
  const { basis, basisVersion } = asked
  const attempt = question.attempt(parts.clock.now())
  const head = await findHead(parts, question)
  const claim = { basisVersion, attempt, callerNonce: question.callerNonce, owners: ownersOf(question, basis) }
  const named = { decision_id: parts.ids.uuid(), basis, head }
  if (asked.counters.size > 0 || asked.asksPerson) {
    const prepared = await parts.approvals.prepare(question.approvalAsking.named)
    return decideUnderLocks(call, parts, question, { asked, claim, named, prepared })
  }
  const { context, evaluation } = asked
  reportState(call, parts, evaluation)
  const signed = await signDecision(call, parts, question, { ...named, context, evaluation })
  const stored = await parts.evidence.recordDecision({ ...signed, ...claim })
  if (stored.text === signed.answer.text) countStored(parts, question, { ...named, evaluation }, signed.decision)
  return jsonText(stored.text, stored.status)
}

interface UnderLocks {
  readonly asked: AskedEvaluation
  readonly claim: Omit<LockedDecision, 'budgetKeys' | 'requester' | 'evaluate' | 'bytes'>
  readonly named: Pick<Evaluated, 'decision_id' | 'basis' | 'head'>
  readonly prepared: PreparedApproval
}

/** The decision is made again from locked counters, and is signed and stored before they are released. */
async function decideUnderLocks(
  call: Call,
  parts: BoundaryState,
  question: Question,
  { asked, claim, named, prepared }: UnderLocks,
): Promise<HttpResponse> {
  const { requester_sovereign_id: requester } = asked.context
  const began = performance.now()
  let made: { readonly evaluation: Evaluation; readonly signed: SignedItem } | undefined
  let changed: readonly ChangedApproval[] = []
  const { basis } = named
  const asking = {
    ...question.approvalAsking,
    resource_id: question.resource_id ?? null,
    attestation: basis.kind === 'agreement' ? undefined : basis.attestation,
  }
  const stored = await parts.evidence.recordLocked({
    ...claim,
    requester,
    budgetKeys: [...asked.counters.keys()],
    bytes: 2 * canonicalJson(asJson(asked.context)).length,
    async evaluate({ tx, now, counters }) {
      parts.metrics.budgetLockSeconds.observe((performance.now() - began) / 1000)
      const { context, facts, policies, evaluate } = asked.at(now)
      const request = { tx, now, counters, requester, asking, prepared, context, facts, policies, evaluate }
      const approved = await parts.approvals.evaluate({ ...request, decision_id: named.decision_id })
      const { evaluation, effect, isIncomplete } = approved
      if (isIncomplete) throw new BasisChangedError('the request asks for another counter')
      reportState(call, parts, evaluation)
      const decided = { ...named, context, evaluation }
      return {
        decision_id: named.decision_id,
        requester,
        madeAt: context.requested_at,
        uses: usesOf(evaluation),
        effect: budgetEffect(evaluation, effect, decisionEnd(context, evaluation, basisEnd(basis))),
        sign: async () => {
          const ready = await parts.approvals.ready(approved, now, (row) =>
            signDecision(call, parts, question, { ...decided, approval: row }),
          )
          const signed: SignedItem = {
            ...ready.signed,
            append: async (batch, within) => {
              changed = (await ready.append?.(within, batch)) ?? []
            },
          }
          made = { evaluation, signed }
          return signed
        },
      }
    },
  })
  if (made !== undefined && stored.text === made.signed.answer.text) {
    countStored(parts, question, { ...named, evaluation: made.evaluation }, made.signed.decision)
    parts.approvals.count(changed)
  }
  return jsonText(stored.text, stored.status)
}

/** What the budgets of an evaluation asked for, as its own steps say. */
function usesOf({ steps }: Evaluation): readonly BudgetUse[] {
  return readUses(steps).map((use) => {
    if (use === undefined) throw new TypeError('a budget step cannot be read back')
    return use
  })
}

function countStored(
  parts: BoundaryState,
  { asked_by }: Question,
  { basis, evaluation }: Pick<Evaluated, 'basis' | 'evaluation'>,
  decision: BoundaryDecision,
): void {
  countDecision(parts, asked_by, decision, basis.kind === 'presented')
  for (const { metadata } of evaluation.steps.filter(isBudgetStep)) {
    const outcome = BUDGET_OUTCOMES.find((each) => each === metadata['outcome'])
    if (outcome !== undefined) parts.metrics.budgetSteps.with({ outcome }).increase()
  }
}

/** A request that no policy covers is the caller's matter. */
function reportState(call: Call, parts: BoundaryState, { policy_binding }: Evaluation): void {
  const { resolution_failure } = policy_binding
  if (resolution_failure !== null && resolution_failure !== 'no_policy_applied')
    parts.log.warn('a decision was denied by the state of the policies', {
      request_id: call.requestId,
      resolution_failure,
    })
}

/** What other systems answered. Each is asked once, also when the decision is made again. */
interface Asking {
  readonly began: number
  answered: { readonly answers: EngineAnswers; readonly now: Instant; readonly context_id: string } | undefined
}

/** What was evaluated without locks, and how the same request is evaluated again under them. */
interface AskedEvaluation {
  readonly basis: BoundaryBasis
  readonly context: ContextRecord
  readonly evaluation: Evaluation
  readonly basisVersion: BasisVersion
  /** Counters that the request asks for. When there are any, the evaluation is only a note of them. */
  readonly counters: ReadonlyMap<string, AskedCounter>
  /** A policy may ask a person. The evaluation does not know approvals, either. */
  readonly asksPerson: boolean
  /** The same request at a later time. */
  at(now: Instant): Pick<LockedRequest, 'context' | 'evaluate' | 'facts' | 'policies'>
}

/**
 * Other systems are asked first, so that the decision itself depends on its inputs alone. Their answers take time, in
 * which a revocation or a change of the policies may be stored. So the state that denies is read after them. A gate or
 * a fact that is new then was not asked about, which denies.
 */
async function evaluateAsked(parts: BoundaryState, question: Question, asking: Asking): Promise<AskedEvaluation> {
  if (asking.answered === undefined) {
    const policies = await parts.boundaryPolicies.active.read()
    const now = parts.clock.now()
    const context = question.contextAt(now)
    const first = { basis: question.basis, context, policies, now }
    const asked = boundaryQuestions(first)
    if (asked.length === 0) return evaluateRead(parts, question, first)
    const answers = await askGates(parts, asked, question.caller)
    asking.answered = { answers, now, context_id: context.context_id }
    return evaluateAnswered(parts, await readAgain(parts, question), asking.began, asking.answered)
  }
  return evaluateAnswered(parts, question, asking.began, asking.answered)
}

async function evaluateAnswered(
  parts: BoundaryState,
  read: Question,
  began: number,
  { answers, now, context_id }: NonNullable<Asking['answered']>,
): Promise<AskedEvaluation> {
  // The caller has its response by now: it must not get a decision that it never sees.
  if (performance.now() - began >= SERVER_LIMITS.handlerDeadlineSeconds * 1000)
    throw new Refusal('service_unavailable', { reason: 'deadline' })
  // Of the same time: the answers are about this context.
  const context = { ...read.contextAt(now), context_id }
  const policies = await parts.boundaryPolicies.active.read()
  return evaluateRead(parts, read, { basis: read.basis, context, policies, now: parts.clock.now(), answers })
}

function evaluateRead(
  parts: BoundaryState,
  { basisVersion, contextAt }: Question,
  asked: BoundaryQuestion & { readonly context: ContextRecord },
): AskedEvaluation {
  const { basis, context } = asked
  const given = { ...asked, policyRequired: parts.settings.boundaryPolicyEnforcement === 'required' }
  const notes = new CounterNotes()
  // Without the store nothing can be counted, so that a budget is not available, which denies.
  const noted = parts.settings.evidenceStore ? { ...given, budgets: notes } : given
  return {
    basis,
    context,
    evaluation: evaluateBoundary(noted),
    basisVersion,
    counters: notes.asked,
    asksPerson: parts.settings.evidenceStore && mayAskPerson(given.policies),
    at(now) {
      const later = { ...contextAt(now), context_id: context.context_id }
      // Answers about another time would not be found, and deny.
      const isAnswered = boundaryQuestions({ ...given, context: later, now }).every(
        ({ question }) => given.answers?.has(question.digest) === true,
      )
      const current = isAnswered ? later : context
      return {
        context: current,
        policies: given.policies,
        facts: boundaryFacts(current, basis),
        evaluate: (state) => evaluateBoundary({ ...given, context: current, now, ...state }),
      }
    },
  }
}

async function askGates(parts: BoundaryState, asked: readonly AskedQuestion[], caller: string): Promise<EngineAnswers> {
  const answers = await parts.boundaryPolicies.answer(asked, caller)
  for (const { gate_name, question: each } of asked) {
    const answer = answers.get(each.digest)
    // A request that does not fit a schema is the caller's matter.
    if (answer?.kind === 'none' && answer.failure !== 'request_refused')
      parts.log.warn('a gate got no answer', { gate_name, failure: answer.failure })
  }
  return answers
}
