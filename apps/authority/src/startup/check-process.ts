import { readFile } from 'node:fs/promises'
import inspector from 'node:inspector'
import { type Log, StartError } from '@chancery/service-kit'

/** The signing key is in memory: no debugger may read it, no crash may write it to a disk (reliability 9). */
export async function checkProcess(
  { coreDumps, log }: { readonly coreDumps: 'refuse' | 'warn'; readonly log: Log },
  limitsFile = '/proc/self/limits',
): Promise<void> {
  if (inspector.url() !== undefined)
    throw new StartError('NODE_OPTIONS: the inspector is on, NA_HA_MODE=on needs it off')
  // The file exists on Linux only. On other systems the rules of the platform apply.
  const limits = await readFile(limitsFile, 'utf8').catch(() => '')
  const soft = /^Max core file size +(\S+)/m.exec(limits)?.[1] ?? '0'
  if (soft === '0') return
  if (coreDumps === 'refuse')
    throw new StartError(
      'NA_HA_MODE: on needs core dumps off (ulimit -c 0, LimitCORE=0 in the service file, ulimits of the container; where none can be set, NA_CORE_DUMPS=warn)',
    )
  log.warn(
    'core dumps are on: a crash may write the signing key to a disk; let the machine drop them (kernel.core_pattern)',
  )
}
