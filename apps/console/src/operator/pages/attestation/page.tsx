import type { AttestationRow } from '@chancery/sdk/authority'
import { verifyList } from '@chancery/protocol'
import type { JSX } from 'preact'
import { plain } from '../../../components/plain.ts'
import { at, authorityNow, read } from '../../client.ts'
import { session } from '../../key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Facts, Roles } from '../../parts/facts.tsx'
import { offerFile } from '../../parts/file.ts'
import { Id } from '../../parts/id.tsx'
import { Problem } from '../../parts/problem.tsx'
import { State } from '../../parts/state.tsx'
import { Time } from '../../parts/time.tsx'
import { useLive } from '../../parts/use-live.ts'
import { Acts, doHref } from '../../signing/review.tsx'
import { withdrawAct } from '../partners/member-acts.ts'
import { memberState } from '../partners/member-state.ts'

interface Shown {
  readonly row: AttestationRow
  readonly isVerified: boolean
}

async function load(id: string, signal: AbortSignal): Promise<Shown> {
  const row = await read<AttestationRow>(at`/attestations/${id}`, {}, signal)
  return { row, isVerified: await verifyList(row.attestation, [session.get()?.audience ?? '']) }
}

/** One member that was attested. */
export function Page({ params, query }: PageProps): JSX.Element {
  const id = params['attestation_id'] ?? ''
  const live = useLive(`attestation ${id}`, (signal) => load(id, signal), ['members', 'partners'])
  const { value } = live
  return (
    <>
      <Bar
        title={value?.row.attestation.subject_id ?? 'Attestation'}
        crumbs={[{ href: '/operator/partners?tab=members', text: 'Our members abroad' }]}
        live={live}
      />
      <div class="content" aria-busy={value === undefined && live.problem === undefined}>
        {live.problem === undefined ? null : <Problem problem={live.problem} />}
        {value === undefined ? null : <Member {...value} />}
      </div>
      {value === undefined ? null : <Acts of={[withdrawAct(id, value.row.attestation.subject_id)]} query={query} />}
    </>
  )
}

function Member({ row, isVerified }: Shown): JSX.Element {
  const { attestation, status, revoked_at, revocation_reason } = row
  const save = (): void => offerFile(`${attestation.subject_id}.attestation.json`, JSON.stringify(attestation, null, 2))
  return (
    <>
      <div class="hero">
        <div>
          <h2>
            {attestation.subject_id} <State {...memberState(row, authorityNow())} isPill />
          </h2>
          <p>Partners accept this member within their treaty with this network, while the attestation is valid.</p>
        </div>
        <div class="end">
          {status === 'revoked' ? null : (
            <a class="btn danger" href={doHref('withdraw')}>
              Withdraw…
            </a>
          )}
          <button type="button" class="btn" onClick={save}>
            Export
          </button>
        </div>
      </div>
      <section class="panel">
        <header>
          <h2>The attestation</h2>
          <div class="end">
            {isVerified ? (
              <State shape="tick" tone="good" word="verified here" />
            ) : (
              <State shape="triangle" tone="watch" word="not signed with the present key" />
            )}
          </div>
        </header>
        <div class="body">
          <Facts
            of={[
              ['Attestation', <Id id={attestation.attestation_id} what="the attestation id" whole />],
              ['Roles', <Roles roles={attestation.roles} />],
              [
                'Claims',
                Object.entries(attestation.claims)
                  .map(([name, value]) => `${name}: ${plain(value)}`)
                  .join(', '),
              ],
              ['Its key', attestation.subject_public_key ?? 'none: any holder of the record'],
              ['Issued', <Time at={attestation.issued_at} both />],
              ['Ends', <Time at={attestation.expires_at} both />],
              ['Withdrawn', revoked_at === null ? null : <Time at={revoked_at} both />],
              ['Reason', revocation_reason],
            ]}
          />
        </div>
      </section>
    </>
  )
}
