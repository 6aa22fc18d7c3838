<?php
namespace X { class Y {} }
