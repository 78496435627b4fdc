import { join } from 'node:path'
import type { Arguments, Options } from '../../arguments/options.ts'
import type { CommandContext } from '../../context.ts'
import { CommandError, usageError } from '../../errors/failure.ts'
import type { Result } from '../../output/result.ts'
import { Gate } from './gate.ts'
import { openHome, readTarget } from './home.ts'
import { type ListenAddress, guardHttp } from './listen.ts'
import { guardStdio } from './stdio.ts'
import { ToolGuard } from './tool-guard.ts'
import { openUpstream } from './upstream.ts'

/** Runs `mcp guard` until the client or the server ends, or until it is stopped. */
export async function runMcpGuard(context: CommandContext, args: Arguments, options: Options): Promise<Result> {
  const target = readTarget(args.list('command'), options)
  const address = readListen(options, 'upstream' in target)
  const home = await openHome(context, options, target)
  const gate = await Gate.prepare({ ...home, context })
  const guard = new ToolGuard({ ...home, gate, note: context.note })
  try {
    if ('upstream' in target) {
      const upstream = openUpstream(context, home, target.upstream, options)
      await guardHttp(context, guard, { upstream, address, secretFile: join(home.folder, 'client.secret') })
      return {}
    }
    const { code, isClientGone } = await guardStdio(context, guard, target.words)
    if (isClientGone || code === 0) return {}
    const message = `The server ended with code ${code}.`
    throw new CommandError({ code: 'server_ended', message, hint: 'Run its command alone to find out why.' })
  } finally {
    await gate.close()
  }
}

/** Other machines must not use the rights of this node, so the address is a loopback one. */
function readListen(options: Options, isHttp: boolean): ListenAddress {
  const [, host = '', port = ''] =
    /^(127\.0\.0\.1|localhost|\[::1\]):(\d{1,5})$/.exec(options.textOrDefault('listen')) ?? []
  if (!isHttp && (options.isSet('listen') || options.isSet('prove')))
    throw usageError('--listen and --prove need --upstream.')
  if (host === '' || Number(port) > 65_535)
    throw usageError('--listen is not a loopback address with a port.', 'For example: --listen 127.0.0.1:9000')
  return { host: host.replaceAll(/[[\]]/g, ''), port: Number(port) }
}
