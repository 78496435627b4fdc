import { CardFormError, signAgentCard } from '@chancery/sdk/a2a'
import type { CommandContext } from '../../context.ts'
import { findCertificateProblem, connectAsNode, loadCertificate } from '../../connection/node-folder.ts'
import { CommandError } from '../../errors/failure.ts'
import { loadJsonObject } from '../../files/json-file.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { Result } from '../../output/result.ts'

/** Runs `agent card sign`: makes no call, so it works while the authority is away. */
export async function runAgentCardSign(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const { signer, files, followed, url } = await connectAsNode(context, options)
  const certificate = await loadCertificate(files)
  const expected = { keys: followed.keys, publicKey: signer.publicKey, now: context.now() }
  const problem = await findCertificateProblem(certificate, expected)
  if (problem !== undefined) {
    const message = `The certificate ${certificate.cert_id} is not usable: ${problem}.`
    throw new CommandError({ code: 'invalid_certificate', message, hint: 'Get a new one with: chancery renew' })
  }
  const card = await loadJsonObject(context.cwd, args.required('file'))
  const crl = options.text('crl-url') ?? `${url.replace(/\/+$/, '')}/crl`
  const signed = await signAgentCard(card, { signer, certificate, crl }).catch((error: unknown) => {
    if (!(error instanceof CardFormError)) throw error
    throw new CommandError({
      code: 'invalid_card',
      message: 'The agent card cannot be signed: readers would write its signed bytes differently.',
      problems: error.problems,
      hint: 'Change these members, then sign again.',
    })
  })
  if (Object.hasOwn(card, 'signatures')) context.note('the former signatures of the card were left out')
  context.note(`the signature is valid until ${certificate.expires_at}; sign again after each renewal`)
  const { cert_id, network_name: network, expires_at } = certificate
  return { data: { cert_id, network, expires_at, card: signed }, text: JSON.stringify(signed, undefined, 2) }
}
