import { CONTENT_TYPES } from '@chancery/contract'
import { Answer } from '@chancery/service-kit'

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Trust gateway</title>
</head>
<body>
<h1>Trust gateway</h1>
<p>This service judges join certificates and forwards reviewed operations to network authorities.</p>
<ul>
<li><a href="/api">What is switched on</a></li>
<li><a href="/v1/services">Operations that can be forwarded</a></li>
<li><a href="/openapi.json">OpenAPI description</a></li>
<li><a href="/v1/mesh">Published networks</a></li>
<li><a href="/ready">Readiness</a></li>
</ul>
</body>
</html>
`

/**
 * GET /
 * A page of plain links: the answers behind them are the same for people and programs.
 */
export function home(): Answer {
  return new Answer(PAGE, CONTENT_TYPES.html)
}
