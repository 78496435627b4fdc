import { execFileSync } from 'node:child_process'
import { basename, dirname } from 'node:path'

/** The alerts of the chart are a link to deploy/prometheus, so that links are followed. */
const OPTIONS = [
  '--create',
  '--format=ustar',
  '--sort=name',
  '--mode=u=rwX,go=rX',
  '--owner=0',
  '--group=0',
  '--numeric-owner',
  '--dereference',
  '--hard-dereference',
  '--use-compress-program=gzip -9 --no-name',
]

/**
 * Packs a folder with GNU tar and gzip, so that the bytes depend on names, contents and executable bits only. `npm pack`
 * adds the modes of the checkout, and another npm writes other bytes. `seconds` is the time of every file.
 */
export function packFolder(folder: string, file: string, seconds: number): void {
  const place = ['--file', file, '--directory', dirname(folder), basename(folder)]
  execFileSync('tar', [...OPTIONS, `--mtime=@${seconds}`, ...place])
}
