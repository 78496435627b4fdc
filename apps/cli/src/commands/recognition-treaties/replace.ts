import { treatyCapabilities, verifyList, visible } from '@chancery/protocol'
import type { JsonObject, RecognitionTreaty } from '@chancery/protocol'
import { type Connection, FOLLOW_HINT, connect, connectAsOperator, signersAt } from '../../connection/connection.ts'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { CommandError } from '../../errors/failure.ts'
import { type Preview, countedText, previewThenConfirm } from '../../prompts/preview.ts'
import { timeSpan } from '../../arguments/time-span.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { loadPublicKeys } from '../../files/keys.ts'
import { describeTreaty, findPredecessor, readCapabilities, readStatuses, sameAs, succeed } from './treaties.ts'
import type { Terms } from './treaties.ts'
import type { TreatyPreview } from '@chancery/sdk/authority'
import { saveRecord } from '../../files/json-file.ts'
import { treatyReasonText } from './reasons.ts'

/** Returns the effects of ending a treaty as text lines. */
function previewLines(preview: TreatyPreview): readonly string[] {
  const { paths_lost: paths, attestations_no_longer_accepted: members } = preview
  if (!preview.would_change) return [`Treaty ${visible(preview.treaty_id)} has ended already.`]
  const from = visible(members.issuer_sovereign_id)
  const accepted = members.all
    ? `Would stop being accepted: all attestations of ${from}`
    : `Attestations of ${from} stay accepted, if at all, through another treaty.`
  const sample = paths.sample.map((path) => `${path.from} ──▶ ${path.to}`)
  const least = paths.complete ? '' : 'at least '
  return [accepted, `Would be cut off: ${least}${countedText({ count: paths.count, sample }, 'path')}`]
}

/** `treaty renew` with other terms: new terms for the same network; the preview shows what they remove. */
export async function replaceTreaty(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { style } = context
  const keys = await loadPublicKeys(context.cwd, options, 'key')
  const [roles, statuses] = [options.list('role'), readStatuses(options)]
  const capabilities = readCapabilities(options)
  const hours = timeSpan(options, 'valid-for', { unit: 'h', min: 1, max: 26_280 })
  const connection = await connectAsOperator(context, options)
  const { treaty: old } = await findPredecessor(connection, args.required('id'))
  const same = sameAs(old, hours)
  const request = {
    ...same,
    subject_public_keys: keys ?? same.subject_public_keys,
    scope: {
      ...same.scope,
      ...(roles.length === 0 ? {} : { allowed_roles: roles }),
      ...(statuses === undefined ? {} : { accepted_statuses: statuses }),
      ...(capabilities === undefined ? {} : { claims: { ...same.scope.claims, capabilities } }),
    },
  }
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: () => previewReplacement(connection, old, request),
    question: `Replace treaty ${visible(old.treaty_id)} with ${visible(old.subject_sovereign_id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const treaty = await succeed(connection, old, request, 'replaced_by')
  const text = `${style.good('Replaced')} treaty ${visible(old.treaty_id)} by:\n${describeTreaty(treaty, style)}`
  return { data: { replaced: old.treaty_id, treaty, forecast: preview.data }, ids: [treaty.treaty_id], text }
}

/** Removes from the preview of the authority what the new treaty still covers. */
async function previewReplacement(connection: Connection, old: RecognitionTreaty, request: Terms): Promise<Preview> {
  const { treaty_id: id } = old
  const data = await connection.ask((client) => client.recognitionTreaties.revoke(id, { dry_run: true }))
  const lost = {
    roles: missing(old.scope.allowed_roles, request.scope.allowed_roles ?? []),
    statuses: missing(old.scope.accepted_statuses, request.scope.accepted_statuses ?? []),
    capabilities: missing(patternsOf(old.scope.claims), patternsOf(request.scope.claims)),
    keys: missing(old.subject_public_keys, request.subject_public_keys),
  }
  const lines = [
    'Ending the old treaty alone would mean:',
    ...previewLines(data).map((line) => `  ${line}`),
    'The new treaty is issued first and replaces this one. No longer accepted:',
    ...Object.entries(lost).map(
      ([name, gone]) => `  ${name}: ${gone.length === 0 ? '-' : gone.map((each) => visible(each)).join(', ')}`,
    ),
  ]
  return { data: { ...data, no_longer_accepted: lost }, lines }
}

function patternsOf(claims: JsonObject = {}): readonly string[] {
  return treatyCapabilities({ claims }) ?? []
}

function missing(before: readonly string[], after: readonly string[]): readonly string[] {
  return before.filter((each) => !after.includes(each))
}

/** Runs `treaty revoke`: permanent, so it shows a preview and asks first. */
export async function runTreatyRevoke(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const [id, reason] = [args.required('id'), options.textOrDefault('reason')]
  const connection = await connectAsOperator(context, options)
  const { preview, only } = await previewThenConfirm(context, options, {
    preview: async () => {
      const data = await connection.ask((client) => client.recognitionTreaties.revoke(id, { reason, dry_run: true }))
      return { data, lines: previewLines(data) }
    },
    question: `End treaty ${visible(id)} at ${connection.url}? This cannot be undone.`,
  })
  if (only !== undefined) return only
  const done = await connection.ask((client) => client.recognitionTreaties.revoke(id, { reason }))
  const text = `${context.style.good('Revoked')} treaty ${visible(done.treaty_id)} (${visible(reason)}).`
  return { data: { ...done, reason, forecast: preview.data }, ids: [done.treaty_id], text }
}

/** Runs `treaty show`; the exit code is 1 when the treaty is not valid. */
export async function runTreatyShow(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { cwd, style } = context
  const connection = await connect(context, options)
  const row = await connection.ask((client) => client.recognitionTreaties.find(args.required('id')))
  const { treaty, lifecycle } = row
  await requireOwnSignature(connection, treaty)
  const { saved } = await saveRecord(cwd, options, async () => treaty)
  const verdict = await connection.ask((client) => client.recognitionTreaties.verify({ treaty }))
  const title = verdict.accepted ? style.good('Valid:') : style.bad('Not valid:')
  const text =
    `${title} ${treatyReasonText(verdict.reason)}\n${describeTreaty(treaty, style, lifecycle)}` +
    `\nBasis: ${visible(verdict.trust_basis)}${saved}`
  const data = {
    ...verdict,
    revocation: verdict.trust_basis === 'this_authority' ? 'checked' : 'not_checked',
    treaty,
    lifecycle,
  }
  return { data, text, exitCode: verdict.accepted ? 0 : 1 }
}

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
