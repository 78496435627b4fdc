import type { Command } from './command.ts'

export const releaseCommands: readonly Command[] = [
  {
    path: ['release', 'verify'],
    summary: 'Verify a downloaded release, offline',
    description:
      'Verifies the signature on the list of files, the SHA-256 of every file, that no file is missing or added, the provenance, and that both lists of contents name the packages of the lock file. Changes nothing. Exit code 1 if a check failed, 2 without --key, or with a key file of the folder: then the signer is not proven.',
    arguments: [{ name: 'dir', summary: 'Folder with all files of one release', required: true }],
    options: [
      {
        flags: '--key <file>',
        summary: 'Release key of the project, from another place than the folder: a .pub file or base64',
      },
    ],
    examples: [
      { line: 'chancery release verify ./release --key chancery-release.pub', summary: 'Verify a release' },
      {
        line: 'chancery release verify ./release --key chancery-release.pub --json',
        summary: 'Print every check in JSON',
      },
    ],
    needs: 'nothing',
  },
]
