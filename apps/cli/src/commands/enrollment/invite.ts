import { resolve } from 'node:path'
import { FormError, grantedRoles, visible } from '@chancery/protocol'
import type { Invite, InviteRequest } from '@chancery/sdk/authority'
import { type Connection, connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import { genesisFingerprint } from '../../files/genesis-file.ts'
import { loadNodeKey } from '../../files/keys.ts'
import { wholeNumberOrDefault } from '../../arguments/numbers.ts'
import { timeSpanOrDefault } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { shellWord } from '../../output/shell-word.ts'
import { runBatch } from './invite-batch.ts'

type Chosen = 'recipient_public_key' | 'label'
type FullRequest = Required<Omit<InviteRequest, Chosen>> & { readonly [Name in Chosen]?: string }

/** Runs `invite create`: prints the token once, or writes it to a file. */
export async function runInvite(context: CommandContext, _args: Arguments, options: Options): Promise<Result> {
  const request = await readRequest(context.cwd, options)
  if (options.isSet('count')) {
    if (request.label !== undefined) throw usageError('--label names one node; give it without --count.')
    const { recipient_public_key: _none, label: _noLabel, ...terms } = request
    return runBatch(context, options, { ...terms, count: wholeNumberOrDefault(options, 'count', 1, 1000) })
  }
  const out = options.text('out')
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  // Checked before the invite exists, because a token that cannot be saved is lost.
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const invite = await connection.ask((client) => client.enrollment.invite(request))
  if (file !== undefined) await writeNewFile(file, `${invite.token_id}\n`, OWNER_ONLY)
  return describe(context, { request, invite, file, join: joinLine(context, connection, file) })
}

async function readRequest(cwd: string, options: Options): Promise<FullRequest> {
  const [recipient, label] = [options.text('node'), options.text('label')]
  return {
    roles: readRoles(options.list('role')),
    max_validity_hours: timeSpanOrDefault(options, 'valid-for', { unit: 'h', min: 1, max: 8760 }),
    token_expiry_hours: timeSpanOrDefault(options, 'expires-in', { unit: 'h', min: 1, max: 720 }),
    ...(label === undefined ? {} : { label }),
    ...(recipient === undefined ? {} : { recipient_public_key: await loadNodeKey(cwd, '--node', recipient) }),
  }
}

function readRoles(given: readonly string[]): readonly string[] {
  try {
    return grantedRoles(1)(given.length === 0 ? ['role:client'] : given, 'roles')
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    throw usageError(`--role: ${error.problem}.`, 'For example --role role:client; at most 16, each once.')
  }
}

/**
 * Returns the command for the node. Its fingerprint pins this network; without it the node would accept the first
 * response.
 */
function joinLine({ cwd }: CommandContext, { url, genesis }: Connection, file: string | undefined): string {
  const pin = genesis === undefined ? '' : ` --genesis ${genesisFingerprint(genesis)}`
  const token = file === undefined ? '' : ` --token-file ${typed(cwd, file)}`
  return `chancery join --home ./node --url ${shellWord(url)}${pin}${token}`
}

interface Made {
  readonly request: FullRequest
  readonly invite: Invite
  readonly file: string | undefined
  readonly join: string
}

function describe({ cwd, style }: CommandContext, { request, invite, file, join }: Made): Result {
  const data = {
    ...(file === undefined ? { token_id: invite.token_id } : { token_file: file }),
    expires_at: invite.expires_at,
    roles: request.roles,
    max_validity_hours: request.max_validity_hours,
    recipient_public_key: request.recipient_public_key ?? null,
    ...(request.label === undefined ? {} : { label: request.label }),
    join,
  }
  const rows = fields(
    [
      ['roles', request.roles.join(', ')],
      ['for', request.recipient_public_key ?? 'any node key'],
      ...(request.label === undefined ? [] : [['label', visible(request.label)] as const]),
      ['certificates', `at most ${request.max_validity_hours} h`],
      ['use it until', invite.expires_at],
      ['token', file === undefined ? invite.token_id : `in ${typed(cwd, file)} (readable by you only)`],
    ],
    style,
  )
  const warning = style.warn(
    'The token is a secret and works once. Anyone with the token can join. It cannot be shown again.',
  )
  const how = file === undefined ? 'Next, on the node, which asks for the token:' : 'Next, on the node:'
  const next = `${style.title(how)}\n  ${join}`
  const ids = file === undefined ? [invite.token_id] : []
  return { data, ids, text: `${style.good('Made')} an invite.\n${rows}\n\n${warning}\n\n${next}` }
}
