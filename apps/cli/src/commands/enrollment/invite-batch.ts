import { resolve } from 'node:path'
import type { InviteBatch, InviteBatchRequest } from '@chancery/sdk/authority'
import { connectAsOperator } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import { type Result, fields, plural } from '../../output/screen.ts'
import { usageError } from '../../errors/failure.ts'
import { OWNER_ONLY, refuseExisting, typed, writeNewFile } from '../../files/files.ts'
import type { Options } from '../../arguments/options.ts'

/** Runs `invite --count`: writes the tokens to a file, or to the screen when requested. */
export async function runBatch(
  context: CommandContext,
  options: Options,
  request: Required<InviteBatchRequest>,
): Promise<Result> {
  const out = options.text('out')
  if (options.isSet('node'))
    throw usageError('--node is for a single invite.', 'Leave out --count, or leave out --node.')
  if ((out === undefined) === !options.isSet('print'))
    throw usageError(
      '--count needs --out or --print, not both.',
      'With --out <file> the tokens are written to a new file that only you can read.',
    )
  const file = out === undefined ? undefined : resolve(context.cwd, out)
  // Checked before the invites exist, because tokens that cannot be saved are lost.
  if (file !== undefined) await refuseExisting([file])
  const connection = await connectAsOperator(context, options)
  const batch = await connection.ask((client) => client.enrollment.inviteBatch(request))
  if (file !== undefined) await writeNewFile(file, `${batch.token_ids.join('\n')}\n`, OWNER_ONLY)
  return describe(context, { request, batch, file })
}

interface Made {
  readonly request: Required<InviteBatchRequest>
  readonly batch: InviteBatch
  readonly file: string | undefined
}

function describe({ cwd, style, again }: CommandContext, { request, batch, file }: Made): Result {
  const data = {
    count: batch.count,
    batch_id: batch.batch_id,
    expires_at: batch.expires_at,
    roles: request.roles,
    max_validity_hours: request.max_validity_hours,
    ...(file === undefined ? { token_ids: batch.token_ids } : { token_file: file }),
  }
  const rows = fields(
    [
      ['roles', request.roles.join(', ')],
      ['certificates', `at most ${request.max_validity_hours} h`],
      ['use them until', batch.expires_at],
      ['batch', batch.batch_id],
      ...(file === undefined ? [] : [['tokens', `one a line in ${typed(cwd, file)} (readable by you only)`] as const]),
    ],
    style,
  )
  const warning = style.warn(
    'Each token is a secret and works once. Anyone with a token can join. The tokens cannot be shown again.',
  )
  const next = `${style.title('Withdraw unused invites with:')}\n  ${again(`chancery invite withdraw --batch ${batch.batch_id}`)}`
  const tokens = file === undefined ? `\n\n${batch.token_ids.join('\n')}` : ''
  return {
    data,
    text: `${style.good('Made')} ${plural(batch.count, 'invite')}.\n${rows}\n\n${warning}\n\n${next}${tokens}`,
  }
}
