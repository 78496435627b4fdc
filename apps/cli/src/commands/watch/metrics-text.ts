import { SECOND } from '@chancery/protocol'
import { PROBLEMS } from './check-lists.ts'
import type { CheckRound, DocumentCheck } from './check-published.ts'

/** Returns the last check as Prometheus text, for the textfile collector of the node exporter. */
export function metricsText({ at, crl, feed }: CheckRound): string {
  const lists = [
    ['crl', crl],
    ['feed', feed],
  ] as const
  const rows = (read: (check: DocumentCheck) => number | undefined): string[] =>
    lists.flatMap(([name, check]) => {
      const value = read(check)
      return value === undefined ? [] : [`{document="${name}"} ${value}`]
    })
  const problems = lists.flatMap(([name, check]) =>
    PROBLEMS.map((problem) => `{document="${name}",problem="${problem}"} ${check.problems.includes(problem) ? 1 : 0}`),
  )
  return [
    ...metric('chancery_watch_problem', '1 if a published document has this problem.', problems),
    ...metric(
      'chancery_watch_sequence',
      'Sequence of the published document.',
      rows((check) => check.sequence),
    ),
    ...metric(
      'chancery_watch_age_seconds',
      'Seconds since the document was signed.',
      rows((check) => check.ageSeconds),
    ),
    ...metric(
      'chancery_watch_expires_in_seconds',
      'Seconds until the document expires.',
      rows((check) => check.expiresInSeconds),
    ),
    ...metric('chancery_watch_last_look_timestamp_seconds', 'Time of the last check.', [` ${Number(at / SECOND)}`]),
    '',
  ].join('\n')
}

function metric(name: string, help: string, rows: readonly string[]): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, ...rows.map((row) => name + row)]
}
