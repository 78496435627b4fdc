import { sovereign } from '@chancery/contract'
import { asJson, isJsonObject, readJson, readOrUndefined, readPresentedAttestation } from '@chancery/protocol'
import type { AuthorityKeys, JsonObject, JsonValue } from '@chancery/protocol'
import type { NodeDecision, NodeDecisionRequest, PresentedAttestation } from '@chancery/sdk/authority'
import { approvalsApi, boundaryApi, requireNodeDecision, routeApi, waitForApproval } from '@chancery/sdk/internal'
import { type Connection, connectAsOperator, connectWithKey } from '../../connection/connection.ts'
import { connectAsNode, loadCertificate, loadNodeSigner } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { loadRecord, loadStructured, saveRecord } from '../../files/json-file.ts'
import { timeSpan } from '../../arguments/time-span.ts'
import { readPairs } from '../../arguments/pairs.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { decisionResult } from './describe.ts'
import { loadAgreement } from '../agreements/agreements.ts'

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readPresentedAttestation } as const

interface Basis {
  readonly attestation?: string
  readonly presented?: PresentedAttestation
}

const isFileName = (text: string): boolean => text.endsWith('.json') || text.includes('/')

/** Reads --attestation: an id, a file of this network, or with --issuer the file of a partner. */
async function readBasis(cwd: string, options: Options): Promise<Basis> {
  const [given, issuer, treaty] = [options.text('attestation'), options.text('issuer'), options.text('treaty')]
  if (issuer === undefined) {
    if (treaty !== undefined) throw usageError('--treaty needs --issuer, the partner that issued the attestation.')
    if (given === undefined) return {}
    return { attestation: isFileName(given) ? (await loadRecord(cwd, given, ATTESTATION)).attestation_id : given }
  }
  if (given === undefined || !isFileName(given))
    throw usageError('--issuer needs the file of an attestation: --attestation.')
  return {
    presented: {
      attestation: await loadRecord(cwd, given, ATTESTATION),
      issuer_sovereign_id: issuer,
      ...(treaty === undefined ? {} : { treaty_id: treaty }),
    },
  }
}

/** The context of --context, with the values of --parameter. */
async function readContext(cwd: string, options: Options): Promise<JsonObject | undefined> {
  const file = options.text('context')
  const given = Object.entries(readPairs(options, 'parameter'))
  const base = file === undefined ? undefined : await loadStructured(cwd, file)
  if (given.length === 0) return base
  const parameters = given.map(([name, text]) => [name, toValue(text)] as const)
  const known = base?.['request_parameters']
  const before = known !== undefined && isJsonObject(known) ? known : {}
  return { ...base, request_parameters: { ...before, ...Object.fromEntries(parameters) } }
}

/** A JSON value, else the text itself. */
function toValue(text: string): JsonValue {
  return readOrUndefined(() => readJson(text)) ?? text
}

/** Runs `ask`. The exit code is 1 only for a verified denial; everything that gives no decision has the code of its error. */
export async function runAsk(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  return options.textOrDefault('as') === 'operator'
    ? evaluate(context, args, options)
    : askForDecision(context, args, options)
}

async function askForDecision(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const resource = options.text('resource')
  if (options.isSet('agreement')) throw usageError('--agreement needs --as operator.')
  const { attestation, presented } = await readBasis(cwd, options)
  if (attestation === undefined && presented === undefined)
    throw usageError(
      'The decision needs an attestation of this node.',
      'List them: chancery attestation list --signed, with an operator key.',
    )
  const asked = await readContext(cwd, options)
  const caller = await openCaller(context, options)
  const request: NodeDecisionRequest = {
    ...(caller.cert_id === undefined ? {} : { cert_id: caller.cert_id }),
    ...(attestation === undefined ? {} : { attestation_id: attestation }),
    ...(presented === undefined ? {} : { presented }),
    requested_capability: args.required('capability'),
    ...(asked === undefined ? {} : { context: asked }),
    ...(resource === undefined ? {} : { resource_id: resource }),
  }
  const wait = timeSpan(options, 'wait', { unit: 's', min: 0, max: 86_400 })
  const approval = options.text('approval')
  const named = approval === undefined ? request : { ...request, approval_id: approval }
  const { record, saved } = await saveRecord(cwd, options, () => askAndWait(context, caller, named, wait))
  const { approval: found } = record
  const isHeld = !record.decision.authorized && (found?.state === 'pending' || found?.state === 'approved')
  if (!isHeld) return decisionResult(record.decision, { data: record, saved, style })
  return {
    data: asJson(record),
    ids: [found.approval_id],
    text: `${style.warn('Held: a person must approve it.')} Approval ${found.approval_id}, ${found.state}, until ${found.use_until ?? found.expires_at}.\nThen: the same command with --approval ${found.approval_id}${saved}`,
    exitCode: HELD,
  }
}

/** Exit code of `ask` for a request that waits for a person. */
const HELD = 3

/** Asks, and with --wait asks again once a person has decided. */
async function askAndWait(
  context: CommandContext,
  caller: Caller,
  request: NodeDecisionRequest,
  waitSeconds: number | undefined,
): Promise<NodeDecision> {
  const answer = await ask(context, caller, request)
  const { approval, decision } = answer
  if (waitSeconds === undefined || decision.authorized || approval?.state !== 'pending') return answer
  const { approval_id } = approval
  const state = await caller.connection.askOver((link) =>
    waitForApproval(approvalsApi(link), approval_id, { waitSeconds }, context.now),
  )
  return state.state === 'pending' ? answer : ask(context, caller, { ...request, approval_id })
}

/** The key that asks, with its certificate when it has one here. */
interface Caller {
  readonly connection: Connection
  readonly publicKey: string
  readonly cert_id: string | undefined
  /** Pinned keys of the authority; undefined when nothing is pinned. */
  readonly keys: readonly string[] | AuthorityKeys | undefined
}

async function openCaller(context: CommandContext, options: Options): Promise<Caller> {
  const key = options.text('member-key')
  if (key === undefined) {
    const connection = await connectAsNode(context, options)
    const { cert_id } = await loadCertificate(connection.files)
    return { connection, publicKey: connection.signer.publicKey, cert_id, keys: connection.followed.keys }
  }
  const signer = await loadNodeSigner(context, key)
  const connection = await connectWithKey(context, options, signer)
  return { connection, publicKey: signer.publicKey, cert_id: undefined, keys: connection.followed?.keys }
}

async function ask(context: CommandContext, caller: Caller, request: NodeDecisionRequest): Promise<NodeDecision> {
  const { connection, publicKey } = caller
  return connection.askOver(async (link) => {
    const response = await boundaryApi(link).request(request)
    const authorityKeys = caller.keys ?? [(await routeApi(sovereign, link).genesis()).network_authority.public_key]
    await requireNodeDecision(response, { request, publicKey, authorityKeys, now: context.now() })
    return response
  })
}

/** `ask --as operator`: the question of a member, asked by an operator. */
async function evaluate(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  for (const name of ['member-key', 'resource'])
    if (options.isSet(name)) throw usageError(`--${name} cannot be combined with --as operator.`)
  const agreement = options.text('agreement')
  const { attestation, presented } = await readBasis(cwd, options)
  if ([agreement, attestation, presented].filter((basis) => basis !== undefined).length !== 1)
    throw usageError('Give exactly one of --attestation and --agreement.')
  const asked = await readContext(cwd, options)
  const request = {
    ...(agreement === undefined ? {} : { agreement: await loadAgreement(cwd, agreement) }),
    ...(attestation === undefined ? {} : { attestation_id: attestation }),
    ...(presented === undefined ? {} : { presented }),
    requested_capability: args.required('capability'),
    ...(asked === undefined ? {} : { context: asked }),
  }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundary.evaluate(request)),
  )
  return decisionResult(record.decision, { data: record, saved, style })
}
