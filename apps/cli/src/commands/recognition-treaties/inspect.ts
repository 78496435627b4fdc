import { type RecognitionTreaty, verifyList, visible } from '@chancery/protocol'
import { type Connection, FOLLOW_HINT, connect, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/result.ts'
import { CommandError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { saveRecord } from '../../files/save-record.ts'
import { loadPublicKeys } from '../../files/public-keys.ts'
import { describeTreaty } from './describe.ts'
import { isTreatyFile, loadTreaty } from './find-treaty.ts'
import { treatyReasonText } from './reasons.ts'

/** Runs `treaty inspect`; the exit code is 1 when the treaty is not valid. */
export async function runTreatyInspect(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const given = args.required('treaty')
  const keys = await loadPublicKeys(cwd, options, 'issuer-key')
  const connection = await connect(context, options)
  const row = isTreatyFile(given) ? undefined : await connection.ask((client) => client.recognitionTreaties.find(given))
  const treaty = row?.treaty ?? (await loadTreaty(cwd, given))
  await requireOwnSignature(connection, treaty)
  const { saved } = await saveRecord(cwd, options, async () => treaty)
  const supplied = keys === undefined ? {} : { issuer_public_keys: keys }
  const verdict = await connection.ask((client) => client.recognitionTreaties.verify({ treaty, ...supplied }))
  const title = verdict.accepted ? style.good('Valid:') : style.bad('Not valid:')
  const text =
    `${title} ${treatyReasonText(verdict.reason)}\n${describeTreaty(treaty, style, row?.lifecycle)}` +
    `\nBasis: ${visible(verdict.trust_basis)}` +
    (verdict.accepted && !verdict.counts_here ? FOREIGN : '') +
    saved
  const data = {
    ...verdict,
    revocation: verdict.trust_basis === 'this_authority' ? 'checked' : 'not_checked',
    treaty,
    ...(row === undefined ? {} : { lifecycle: row.lifecycle }),
  }
  return { data, text, exitCode: verdict.accepted ? 0 : 1 }
}

const FOREIGN =
  '\nNot checked: whether its issuer has revoked it. Ask the authority of the issuer.' +
  '\nIt lets no member in here: only own treaties do.'

/** Verifies the signature with the pinned keys, if the pinned authority issued the treaty. */
async function requireOwnSignature(connection: Connection, treaty: RecognitionTreaty): Promise<void> {
  const keys = signersAt(connection, treaty)
  if (keys === undefined || treaty.issuer_sovereign_id !== connection.genesis?.network_name) return
  if (await verifyList(treaty, keys)) return
  throw new CommandError({
    code: 'invalid_signature',
    message: `Treaty ${visible(treaty.treaty_id)} is not signed by the authority that the genesis block names.`,
    hint: `Do not rely on it. Another server may answer at this address. ${FOLLOW_HINT}`,
  })
}
