import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
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
]

/**
 * Packs a folder with GNU tar and gzip, so that the bytes depend on names, contents and executable bits only. `npm pack`
 * adds the modes of the checkout, and another npm writes other bytes. `seconds` is the time of every file.
 */
export function packFolder(folder: string, file: string, seconds: number): void {
  const gzip = '--use-compress-program=gzip -9 --no-name'
  pack([gzip, '--directory', dirname(folder), basename(folder)], file, seconds)
}

/** Packs what is in a folder, without compression. */
export function packContents(folder: string, file: string, seconds: number): void {
  pack(['--directory', folder, ...readdirSync(folder).sort()], file, seconds)
}

function pack(what: readonly string[], file: string, seconds: number): void {
  execFileSync('tar', [...OPTIONS, `--mtime=@${seconds}`, '--file', file, ...what])
}
