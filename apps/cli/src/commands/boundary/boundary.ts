import { sovereign } from '@chancery/contract'
import { type AuthorityKeys, asJson, readPresentedAttestation } from '@chancery/protocol'
import type { NodeDecision, NodeDecisionRequest, PresentedAttestation } from '@chancery/sdk/authority'
import { approvalsApi, boundaryApi, requireNodeDecision, routeApi, waitForApproval } from '@chancery/sdk/internal'
import { type Connection, connectAsOperator, connectWithKey } from '../../connection/connection.ts'
import { connectAsNode, loadCertificate, loadNodeSigner } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { explain } from '../../errors/explain.ts'
import { loadJsonObject, loadRecord, loadStructured, saveRecord } from '../../files/json-file.ts'
import { wholeNumber } from '../../arguments/numbers.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { decisionResult } from './describe.ts'
import { loadAgreement } from '../agreements/agreements.ts'

const ATTESTATION = { name: 'an attestation', member: 'attestation', read: readPresentedAttestation } as const

/** Reads the attestation of --presented, of the issuer and under the treaty that the options name. */
async function loadPresented(cwd: string, options: Options): Promise<PresentedAttestation | undefined> {
  const file = options.text('presented')
  const [issuer, treaty] = [options.text('issuer'), options.has('treaty') ? options.text('treaty') : undefined]
  if (file === undefined) {
    if (issuer !== undefined || treaty !== undefined) throw usageError('--issuer and --treaty need --presented.')
    return undefined
  }
  if (issuer === undefined) throw usageError('--presented needs --issuer, the sovereign that issued the attestation.')
  return {
    attestation: await loadRecord(cwd, file, ATTESTATION),
    issuer_sovereign_id: issuer,
    ...(treaty === undefined ? {} : { treaty_id: treaty }),
  }
}

const isFileName = (text: string): boolean => text.endsWith('.json') || text.includes('/')

/** Reads --attestation: an id, or a file with the signed record. */
async function attestationId(cwd: string, options: Options): Promise<string | undefined> {
  const given = options.text('attestation')
  if (given === undefined || !isFileName(given)) return given
  return (await loadRecord(cwd, given, ATTESTATION)).attestation_id
}

/** Runs `ask`. The exit code is 1 only for a verified denial, and 2 for everything that gives no decision. */
export async function runAsk(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  try {
    return await askForDecision(context, args, options)
  } catch (error) {
    const { code, message, hint } = explain(error)
    throw new CommandError({ code, message, hint, exitCode: 2 }, { cause: error })
  }
}

async function askForDecision(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const [file, resource] = [options.text('context'), options.text('resource')]
  const attestation = await attestationId(cwd, options)
  const presented = await loadPresented(cwd, options)
  if ((attestation === undefined) === (presented === undefined))
    throw usageError('Give exactly one of --attestation and --presented.')
  const caller = await openCaller(context, options)
  const request: NodeDecisionRequest = {
    ...(caller.cert_id === undefined ? {} : { cert_id: caller.cert_id }),
    ...(attestation === undefined ? {} : { attestation_id: attestation }),
    ...(presented === undefined ? {} : { presented }),
    requested_capability: args.required('capability'),
    ...(file === undefined ? {} : { context: await loadStructured(cwd, file) }),
    ...(resource === undefined ? {} : { resource_id: resource }),
  }
  const wait = wholeNumber(options, 'wait', 0, 86_400)
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
  const key = options.text('key')
  if (key === undefined) {
    if (options.isSet('genesis')) throw usageError('--genesis needs --key: the folder of a node has its own block.')
    const connection = await connectAsNode(context, options)
    const { cert_id } = await loadCertificate(connection.files)
    return { connection, publicKey: connection.signer.publicKey, cert_id, keys: connection.followed.keys }
  }
  if (options.isSet('home')) throw usageError('Give --home or --key, not both.')
  const signer = await loadNodeSigner(context, key)
  const connection = await connectWithKey(context, options, signer, options.text('genesis'))
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

/** Runs `evaluate`; the exit code is 1 for a denial, so that a script stops. */
export async function runEvaluate(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const [agreement, file] = [options.text('agreement'), options.text('context')]
  const attestation = await attestationId(cwd, options)
  const presented = await loadPresented(cwd, options)
  if ([agreement, attestation, presented].filter((basis) => basis !== undefined).length !== 1)
    throw usageError('Give exactly one of --agreement, --attestation and --presented.')
  const request = {
    ...(agreement === undefined ? {} : { agreement: await loadAgreement(cwd, agreement) }),
    ...(attestation === undefined ? {} : { attestation_id: attestation }),
    ...(presented === undefined ? {} : { presented }),
    requested_capability: args.required('capability'),
    ...(file === undefined ? {} : { context: await loadStructured(cwd, file) }),
  }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundary.evaluate(request)),
  )
  return decisionResult(record.decision, { data: record, saved, style })
}

/** Runs `decide`; the exit code is 1 for a denial, so that a script stops. */
export async function runDecide(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const agreement = await loadAgreement(cwd, args.required('agreement'))
  const file = options.text('context')
  const request = {
    agreement,
    requested_capability: args.required('capability'),
    ...(file === undefined ? {} : { context: await loadJsonObject(cwd, file) }),
  }
  const connection = await connectAsOperator(context, options)
  const { record, saved } = await saveRecord(cwd, options, () =>
    connection.ask((client) => client.boundary.decide(request)),
  )
  return decisionResult(record, { data: record, saved, style })
}
