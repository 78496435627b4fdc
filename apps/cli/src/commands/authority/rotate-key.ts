import { resolve } from 'node:path'
import { type JsonObject, isJsonObject } from '@chancery/protocol'
import { createGatewayClient } from '@chancery/sdk/gateway'
import type { CommandContext } from '../../context.ts'
import type { Result } from '../../output/screen.ts'
import { explain } from '../../errors/explain.ts'
import { usageError } from '../../errors/failure.ts'
import type { Arguments, Options } from '../../arguments/options.ts'
import { readText } from '../../files/files.ts'
import { findSettings, runSuccessionStep } from './start.ts'

/** Runs `authority rotate-key`: the next step of a succession, with the settings in use. */
export async function runAuthorityRotateKey(
  context: CommandContext,
  _args: Arguments,
  options: Options,
): Promise<Result> {
  if (['step', 'status', 'first-list'].some((name) => options.isSet(name))) return runSuccessionStep(context, options)
  const named = ['next-key-id', 'next-genesis', 'next-history'].map((name) => options.text(name))
  const given = named.filter((each) => each !== undefined)
  const [id = '', genesisFile = '', historyFile = ''] = given
  if (given.length !== 0 && given.length !== 3)
    throw usageError('Give --next-key-id, --next-genesis and --next-history together, at the first step.')
  const at = (path: string): string => resolve(context.cwd, path)
  const { commands } = await import('@chancery/authority')
  const exitCode = await commands.rotateKey({
    ...(await findSettings(context, options)),
    isForced: options.isSet('force'),
    askGateways: await gatewaysOf(context, options),
    ...(given.length === 0 ? {} : { next: { keyId: id, genesisFile: at(genesisFile), historyFile: at(historyFile) } }),
    // Without a terminal there is no answer, so nothing is changed.
    confirm: async (question) =>
      options.isSet('yes') || (context.isInteractive && (await context.prompts.confirm(question))),
  })
  return { exitCode }
}

/** The ids of the keys that each named gateway has for a network. One that cannot be asked says why. */
async function gatewaysOf(context: CommandContext, options: Options) {
  const [urls, file] = [options.list('gateway'), options.text('token-file')]
  if (urls.length > 0 && file === undefined)
    throw usageError('Give --token-file: a gateway shows its networks to callers that it knows.')
  const token = file === undefined ? '' : (await readText(resolve(context.cwd, file))).trim()
  const ask = async (url: string, network: string) => {
    try {
      const networks = await createGatewayClient({ url, token }).networks()
      const own = networks.find(({ name }) => name === network)
      return own === undefined ? { url, failure: `does not show ${network}` } : { url, keyIds: issuersOf(own) }
    } catch (error) {
      return { url, failure: explain(error).message }
    }
  }
  return (network: string) => Promise.all(urls.map((url) => ask(url, network)))
}

function issuersOf({ revocation = null, additional_issuers: more = [] }: JsonObject): string[] {
  const all = [revocation, ...(Array.isArray(more) ? more : [])]
  return all.flatMap((each) => (isJsonObject(each) && typeof each['issuer'] === 'string' ? [each['issuer']] : []))
}
