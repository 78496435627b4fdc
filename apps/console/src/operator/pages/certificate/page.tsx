import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { at, read } from '../../client.ts'
import { nodeHref } from '../../node-key.ts'
import type { PageProps } from '../../pages.ts'
import { Bar } from '../../parts/bar.tsx'
import { Blank, Problem } from '../../parts/problem.tsx'
import { useLive } from '../../parts/use-live.ts'
import { navigate } from '../../router.ts'

interface Found {
  readonly certificates: readonly { readonly node_public_key: string }[]
}

/** Opens the page of the node that holds a certificate, with this certificate picked. */
export function Page({ params }: PageProps): JSX.Element {
  const id = params['cert_id'] ?? ''
  const { value, problem } = useLive(`certificate ${id}`, (signal) =>
    read<Found>(at`/admin/certificates`, { cert_id: id }, signal),
  )
  const key = value?.certificates[0]?.node_public_key
  useEffect(() => {
    if (key !== undefined) navigate(`${nodeHref(key)}?cert=${encodeURIComponent(id)}`, { replace: true })
  }, [key])
  return (
    <>
      <Bar title="Certificate" crumbs={[{ href: '/operator/nodes', text: 'Nodes' }]} />
      {problem === undefined ? null : <Problem problem={problem} />}
      {value === undefined || key !== undefined ? null : (
        <Blank icon="node" title="No such certificate" text="This authority issued no certificate with this id." />
      )}
    </>
  )
}
