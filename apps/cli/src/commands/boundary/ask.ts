import type { AuthorityKeys } from '@chancery/protocol'
import { type NodeDecision, type NodeDecisionRequest, requireNodeDecision } from '@chancery/sdk'
import { type Connection, connectWithKey } from '../../connection/connection.ts'
import { connectAsNode, loadCertificate, loadNodeSigner } from '../../connection/node-folder.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import { explain } from '../../errors/explain.ts'
import { saveRecord } from '../../files/save-record.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadStructured } from '../../files/structured-file.ts'
import { decisionResult } from './describe.ts'
import { attestationId, loadPresented } from './presented.ts'

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
  const { record, saved } = await saveRecord(cwd, options, () => ask(context, caller, request))
  return decisionResult(record.decision, { data: record, saved, style })
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
  return connection.ask(async (client) => {
    const response = await client.boundary.request(request)
    const authorityKeys = caller.keys ?? [(await client.sovereign.genesis()).network_authority.public_key]
    await requireNodeDecision(response, { request, publicKey, authorityKeys, now: context.now() })
    return response
  })
}
