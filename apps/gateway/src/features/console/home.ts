import { CONTENT_TYPES, LIMITS, trustedTypesPolicy } from '@chancery/contract'
import { HttpResponse } from '@chancery/service-kit'

/**
 * One style sheet and one script, both from this origin, and nothing inline. So the content policy needs no exception.
 */
const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${trustedTypesPolicy()}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Trust gateway</title>
<link rel="icon" href="/assets/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/assets/styles.css">
<script type="module" src="/assets/explorer.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to content</a>
<div id="explorer" data-key-idle-minutes="${LIMITS.consoleKeyIdleMinutes}">
<main class="content stack" id="content" tabindex="-1">
<div class="verdict"><h1>Trust gateway</h1>
<p>This service verifies join certificates and forwards allowed operations to network authorities.</p></div>
<ul class="plain">
<li><a href="/api">Enabled features</a></li>
<li><a href="/v1/services">Operations that can be forwarded</a></li>
<li><a href="/openapi.json">OpenAPI description</a></li>
<li><a href="/v1/mesh">Published networks</a></li>
<li><a href="/ready">Readiness</a></li>
</ul>
<noscript><p>The explorer needs its script, which comes from this gateway. The links above work without it.</p></noscript>
</main>
</div>
</body>
</html>
`

/**
 * GET /
 * Returns the endpoint explorer. Without its script the page has plain links to the documents.
 */
export function home(): HttpResponse {
  return new HttpResponse(PAGE, CONTENT_TYPES.html)
}
