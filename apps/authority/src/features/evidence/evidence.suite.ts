import { randomUUID } from 'node:crypto'
import {
  asJson,
  boundaryDecisionForm,
  canonicalJson,
  contextDigest,
  isJsonObject,
  justificationForm,
  policySetDigest,
  readJson,
  seconds,
  signForm,
  writeInstant,
} from '@chancery/protocol'
import type {
  BoundaryDecision,
  ContextRecord,
  ExecutionEvidence,
  JsonObject,
  JustificationProof,
  Signer,
} from '@chancery/protocol'
import {
  EXECUTED_CAPABILITY,
  ManualClock,
  accepted,
  signExecution,
  publishFirst,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestResponse, TestAuthority, TestAuthorityOptions } from '@chancery/testkit'
import { sql } from 'kysely'
import { type BasisVersion, readBasisVersion } from '../../database/locks/decision-basis.ts'

export const START = '2026-01-02T03:04:05.678Z'
export const CAPABILITY = EXECUTED_CAPABILITY

/** A signed decision as the deciding routes make it, and the data that is stored with it. */
export interface MadeForTest {
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly proof: JustificationProof
  readonly basisVersion: BasisVersion
}

/** An authority with its store enabled, a manual clock, and one executor with a registered key. */
export async function openTestStore(options: TestAuthorityOptions = {}) {
  const clock = options.clock instanceof ManualClock ? options.clock : new ManualClock(START)
  const settings = {
    EVIDENCE_STORE: 'on',
    NA_ANCHOR_INTERVAL_SECONDS: '0',
    NA_CLOCK_CHECK: 'off',
    NA_GENESIS_WINDOW: 'warn',
    ...options.settings,
  }
  const na = await startTestAuthority({ ...options, clock, settings })
  const executor = await testSigner('rotator-key-1', 'executor')
  const register = (key: Signer, sovereign = 'rotator'): Promise<TestResponse> =>
    na.as('privileged')('POST', '/admin/evidence/executor-keys', {
      key_id: key.keyId,
      public_key: key.publicKey,
      executor_sovereign_id: sovereign,
    })
  if (options.database === undefined) accepted(await register(executor), 201)
  // A list or feed that a job publishes changes the basis of decisions.
  if (options.database === undefined) await publishFirst(na)
  return {
    na,
    clock,
    executor,
    register,
    get: (path: string) => na.as('standard')('GET', path),
    post: (path: string, body: JsonObject, as = 'privileged') => na.as(as)('POST', path, body),
    submit: (evidence: unknown) =>
      na.request('POST', '/evidence/execution', {
        body: evidence === undefined ? {} : { evidence: evidence as JsonObject },
      }),
    decide: (facts?: DecisionWishes) => decide(na, clock, facts),
    /** Signed by the registered executor unless another key is given. */
    evidence: (decision: BoundaryDecision, more: Partial<ExecutionEvidence> = {}, key: Signer = executor) =>
      signExecution(decision, key, more),
    lines: async () => (await na.as('standard')('GET', '/admin/evidence/export')).text.split('\n').slice(0, -1),
    report: async () => accepted(await na.as('standard')('GET', '/admin/evidence/verify')),
    stop: () => na.stop(),
  }
}

export interface DecisionWishes {
  readonly vendor?: string
  readonly capability?: string
  readonly authorized?: boolean
  readonly parameters?: JsonObject
  readonly withProof?: boolean
  /** Gates that do not pass, in their order. */
  readonly failed?: readonly string[]
  readonly requester?: string
  /** Ids of applied policies. */
  readonly policies?: readonly string[]
}

/** Signed here with the authority's own key, because the deciding routes belong to another feature. */
export async function makeDecision(
  na: TestAuthority,
  clock: ManualClock,
  wishes: DecisionWishes,
): Promise<MadeForTest> {
  const { vendor = 'vendor-1', capability = CAPABILITY, authorized = true, parameters = {} } = wishes
  const { requester = vendor, failed = authorized ? [] : ['capability_check'] } = wishes
  const policies = (wishes.policies ?? []).map((policy_id) => ({
    policy_id,
    version: 1,
    policy_digest: 'd'.repeat(64),
    signed_by: 'op',
  }))
  const made = writeInstant(clock.now())
  const attestation_id = randomUUID()
  const context: ContextRecord = {
    context_id: randomUUID(),
    agreement_id: attestation_id,
    parent_kind: 'attestation',
    requester_sovereign_id: requester,
    provider_sovereign_id: na.genesis.network_name,
    requested_capability: capability,
    request_parameters: parameters,
    requested_at: made,
    context_freshness_seq: 0,
    attributes: {},
    attestation_id,
  }
  const decision: BoundaryDecision = {
    decision_id: randomUUID(),
    context_id: context.context_id,
    agreement_id: attestation_id,
    authorized,
    denial_reason: authorized ? null : 'capability out of scope',
    gate_results: ['freshness_check', ...(failed.length === 0 ? ['capability_check'] : failed)].map((gate_name) => ({
      gate_name,
      passed: !failed.includes(gate_name),
      detail: 'by hand',
    })),
    decision_made_at: made,
    decision_valid_until: writeInstant(clock.now() + seconds(300)),
    operator_sovereign_id: na.genesis.network_name,
    freshness_proof: null,
    policy_binding: {
      policies,
      policy_set_digest: policySetDigest(policies),
      gate_evaluations: [],
      context_digest: contextDigest(context),
      registry_gate_types: [],
      resolution_status: 'resolved',
      resolution_failure: null,
    },
    attestation_binding: {
      attestation_id,
      subject_id: vendor,
      issuer_sovereign_id: na.genesis.network_name,
      attestation_digest: null,
      revocation_seq_checked: 0,
    },
    signature: null,
  }
  const proof: JustificationProof = {
    proof_id: randomUUID(),
    decision_id: decision.decision_id,
    trace: {
      trace_id: randomUUID(),
      decision_id: decision.decision_id,
      agreement_id: attestation_id,
      operator_sovereign_id: na.genesis.network_name,
      traced_at: made,
      entries: [],
      short_circuited_at: authorized ? null : 'capability_check',
      final_authorized: authorized,
    },
    proof_issued_at: made,
    issuer_sovereign_id: na.genesis.network_name,
    signature: null,
  }
  const { signer } = na.core.signing
  return {
    context,
    basisVersion: await readBasisVersion(na.core.database),
    decision: await signForm(boundaryDecisionForm, decision, signer),
    proof: await signForm(justificationForm, proof, signer),
  }
}

async function decide(na: TestAuthority, clock: ManualClock, wishes: DecisionWishes = {}): Promise<MadeForTest> {
  const made = await makeDecision(na, clock, wishes)
  await na.features.evidence.recordDecision({
    decision: made.decision,
    context: made.context,
    ...(wishes.withProof === false ? {} : { proof: made.proof }),
    events: [],
    basisVersion: made.basisVersion,
    attempt: undefined,
    owners: [],
    answer: { status: 201, text: canonicalJson(asJson(made.decision)) },
  })
  return made
}

/** The parsed lines of an export. */
export function parseLines(lines: readonly string[]): readonly JsonObject[] {
  return lines.map((line) => {
    const event = readJson(line)
    if (!isJsonObject(event)) throw new Error('a line is not an object')
    return event
  })
}

/** `3 payload_digest_mismatch` for every failure of a report. */
export function failuresOf(report: JsonObject): readonly string[] {
  const failures = report['failures'] as readonly { readonly store_sequence: number | null; readonly reason: string }[]
  return failures.map(({ store_sequence, reason }) => `${store_sequence} ${reason}`)
}

/** Does what only the owner of the database can: removes the trigger and changes rows. */
export async function forgeRows(na: TestAuthority, ...statements: readonly string[]): Promise<void> {
  const { database } = na.core
  await database.write(async (tx) => {
    const off =
      database.engine === 'postgres'
        ? ['alter table evidence_entries disable trigger user']
        : ['drop trigger evidence_entries_fixed', 'drop trigger evidence_entries_kept']
    for (const statement of [...off, ...statements]) await sql.raw(statement).execute(tx.query)
  })
}
