// oxlint-disable typescript/no-floating-promises, no-unused-expressions, no-console, typescript/no-unnecessary-type-parameters, typescript/consistent-type-imports -- nothing here runs
// What must compile, and what must not: `tsc -b` checks this file, and an unused @ts-expect-error is an error. Nothing runs it.
import {
  RefusedError,
  createAuthorizer,
  createGovernor,
  joinNetwork,
  requireAllowed,
  requireValid,
  trustNetworks,
  verifyDecision,
} from '@chancery/sdk'
import type {
  Answer,
  Attestation,
  Caller,
  CertificateTrust,
  Decider,
  DecisionVerdict,
  GovernedResult,
  Governor,
  NetworkNode,
  Outbox,
  RefusalCode,
  Verdict,
} from '@chancery/sdk'
import { authorize } from '@chancery/sdk/web'
import { governTools } from '@chancery/sdk/ai-sdk'
import { createGatewayClient } from '@chancery/sdk/gateway'
import { startTestPartners } from '@chancery/testkit'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
declare function expectType<T extends true>(): T
declare const trust: CertificateTrust,
  node: NetworkNode,
  caller: Caller,
  govern: Governor,
  answer: Answer,
  verdict: DecisionVerdict,
  attestation: Attestation

// 1 A denied decision cannot be taken for an allowed one.
// @ts-expect-error there is no `ok`
if (verdict.ok) console.log()
if (verdict.allowed) expectType<Equal<typeof verdict.record.authorized, true>>()
if (verdict.valid && !verdict.allowed) expectType<Equal<typeof verdict.record.denial_reason, string>>()
// @ts-expect-error an answer is not a boolean; its record is not narrowed before the check
answer.decision.authorized satisfies true
// @ts-expect-error an unchecked verdict has no record
verdict.record
// @ts-expect-error a plain verdict of a treaty is not an answer
requireAllowed({ valid: true, record: {}, signedBy: '', unproven: [] })

// 2 authorize() needs decisions; authenticate() does not.
const without = createAuthorizer({ audience: 'a', trust })
const withDecisions = createAuthorizer({ audience: 'a', trust, decisions: node })
authorize(withDecisions, 'x', () => new Response())
// @ts-expect-error no decisions were given
authorize(without, 'x', () => new Response())

// 3 One basis only.
node.ask('x', { caller })
node.ask('x', { attestation })
// @ts-expect-error not both
node.ask('x', { caller, attestation })

// 4 A governed function keeps input and result, also async, and one argument is the input.
const pay = govern('invoice.pay', async (input: { amount: number }) => ({ paid: input.amount }))
expectType<Equal<Awaited<ReturnType<typeof pay>>, { paid: number }>>()
expectType<Equal<Awaited<ReturnType<typeof pay.try>>, GovernedResult<{ paid: number }>>>()
pay({ amount: 1 })
// @ts-expect-error the input is required
pay()
// @ts-expect-error of this type
pay({ amount: '1' })
const rotate = govern('key.rotate', () => 1)
rotate()
// @ts-expect-error parameters see the input of the action
govern('x', (input: { a: number }) => input.a, { parameters: ({ b }) => ({ b }) })
const withContext = govern('key.rotate', (_input: undefined, { answer: given }) => given.decision.decision_id)
expectType<Equal<Awaited<ReturnType<typeof withContext>>, string>>()

// 5 Tool sets keep their names.
const tools = governTools(govern, { pay: { execute: async (input: { amount: number }, _o: object) => input.amount } })
// @ts-expect-error unknown tool
tools.refund

// 6 Codes complete, and unknown codes are still strings.
const code: RefusalCode = 'certificate_revoked'
const newer: RefusalCode = 'a_code_of_next_year'
declare const error: RefusedError
if (error.code === 'rate_limit_exceeded') console.log(error.retryAfterSeconds)

// 7 Nodes and gateways are deciders and trust sources.
node satisfies Decider
createGatewayClient({ url: 'u', token: 't' }) satisfies Decider & CertificateTrust

// 8 Disposable with `await using`.
node satisfies AsyncDisposable
;({}) as Outbox satisfies AsyncDisposable
;({}) as Governor satisfies AsyncDisposable

// 9 trustNetworks needs one network, and each network its genesis block.
// @ts-expect-error empty
trustNetworks([])
// @ts-expect-error no genesis block
trustNetworks([{ url: 'u' }])
// @ts-expect-error a node needs a genesis block, too
joinNetwork({ url: 'u', store: {} as never })

// 10 Partners by name.
const partners = await startTestPartners(['A', 'B'])
partners.A.genesis
// @ts-expect-error no such network
partners.C
// @ts-expect-error treaties name the partners
startTestPartners(['A', 'B'], { treaties: [{ from: 'A', to: 'C' }] })

// 11 Exported names are enough to annotate a wrapper (no TS2742, no import of @chancery/protocol).
export const makeVerdict = async (): Promise<DecisionVerdict> => verifyDecision('{}', {})
export const inferred = async () => verifyDecision('{}', {})
export const inferredNode = (options: Parameters<typeof joinNetwork>[0]) => joinNetwork(options)
export const valid = <T>(v: Verdict<T>) => requireValid(v)
export { code, newer, createGovernor }

// 12 The generated union is the table of the contract.
import type { AuthorityCode, GatewayCode } from '@chancery/sdk'
import type { ERRORS, GATEWAY_ERRORS } from '@chancery/contract'
expectType<Equal<AuthorityCode, keyof typeof ERRORS>>()
expectType<Equal<GatewayCode, keyof typeof GATEWAY_ERRORS>>()
